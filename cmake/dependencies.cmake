# Libraries: those of the system where there are any, else the sources that tools/setup unpacked and names in
# FETCHCONTENT_SOURCE_DIR_<NAME>. The build itself downloads nothing.

include(FetchContent)
set(FETCHCONTENT_FULLY_DISCONNECTED ON)

# utf8proc: Unicode classes and NFC for the pre-tokenisers.
function(bitwin_find_utf8proc)
  if(NOT EMSCRIPTEN)
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
      pkg_check_modules(UTF8PROC QUIET IMPORTED_TARGET GLOBAL libutf8proc)
      if(UTF8PROC_FOUND)
        add_library(bitwin_utf8proc INTERFACE)
        target_link_libraries(bitwin_utf8proc INTERFACE PkgConfig::UTF8PROC)
        return()
      endif()
    endif()
  endif()
  if(NOT EXISTS ${FETCHCONTENT_SOURCE_DIR_UTF8PROC}/utf8proc.c)
    message(FATAL_ERROR "utf8proc is missing: run tools/setup (and source tools/env.sh for wasm), install libutf8proc-dev, "
                        "or name its sources in FETCHCONTENT_SOURCE_DIR_UTF8PROC "
                        "(now \"${FETCHCONTENT_SOURCE_DIR_UTF8PROC}\")")
  endif()
  add_library(bitwin_utf8proc STATIC ${FETCHCONTENT_SOURCE_DIR_UTF8PROC}/utf8proc.c)
  target_include_directories(bitwin_utf8proc SYSTEM PUBLIC ${FETCHCONTENT_SOURCE_DIR_UTF8PROC})
  target_compile_definitions(bitwin_utf8proc PUBLIC UTF8PROC_STATIC)
endfunction()
bitwin_find_utf8proc()

# Catch2, version 2 (headers only) or 3.
function(bitwin_find_catch2)
  add_library(bitwin_catch2 INTERFACE)
  if(FETCHCONTENT_SOURCE_DIR_CATCH2 AND EXISTS ${FETCHCONTENT_SOURCE_DIR_CATCH2}/single_include)
    target_include_directories(bitwin_catch2 SYSTEM INTERFACE ${FETCHCONTENT_SOURCE_DIR_CATCH2}/single_include)
  elseif(FETCHCONTENT_SOURCE_DIR_CATCH2)
    FetchContent_Declare(catch2)
    FetchContent_MakeAvailable(catch2)
    if(EMSCRIPTEN)
      # As in wasm/: exceptions must be caught, and the threaded tests take only objects that know atomics.
      target_compile_options(Catch2 PRIVATE -fwasm-exceptions -matomics -mbulk-memory)
    endif()
    target_link_libraries(bitwin_catch2 INTERFACE Catch2::Catch2)
  else()
    find_package(Catch2 REQUIRED)
    target_link_libraries(bitwin_catch2 INTERFACE Catch2::Catch2)
  endif()
endfunction()
if(BITWIN_TESTS)
  bitwin_find_catch2()
endif()
