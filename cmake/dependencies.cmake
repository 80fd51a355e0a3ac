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
  if(NOT FETCHCONTENT_SOURCE_DIR_UTF8PROC)
    message(FATAL_ERROR "utf8proc is missing: install libutf8proc-dev, or give its sources in FETCHCONTENT_SOURCE_DIR_UTF8PROC")
  endif()
  add_library(bitwin_utf8proc STATIC ${FETCHCONTENT_SOURCE_DIR_UTF8PROC}/utf8proc.c)
  target_include_directories(bitwin_utf8proc SYSTEM PUBLIC ${FETCHCONTENT_SOURCE_DIR_UTF8PROC})
  target_compile_definitions(bitwin_utf8proc PUBLIC UTF8PROC_STATIC)
endfunction()
bitwin_find_utf8proc()
