# Libraries. The build itself downloads nothing: tools/setup unpacks sources into the folder BITWIN_SOURCES (the presets
# take it from the environment, see tools/env.sh), and everything else is a package of the system.

set(BITWIN_SOURCES "" CACHE PATH "Folder with the sources of utf8proc and catch2")
# CMake's own name for an unpacked source goes before the folder of the set-up.
foreach(name utf8proc catch2)
  string(TOUPPER ${name} upper)
  if(BITWIN_SOURCES AND NOT FETCHCONTENT_SOURCE_DIR_${upper})
    set(FETCHCONTENT_SOURCE_DIR_${upper} ${BITWIN_SOURCES}/${name})
  endif()
endforeach()

# utf8proc: Unicode classes and NFC for the pre-tokenisers. From source where there is one, so that every build splits
# text by the same version of Unicode; else the system's.
if(EXISTS ${FETCHCONTENT_SOURCE_DIR_UTF8PROC}/utf8proc.c)
  add_library(bitwin_utf8proc STATIC ${FETCHCONTENT_SOURCE_DIR_UTF8PROC}/utf8proc.c)
  target_include_directories(bitwin_utf8proc SYSTEM PUBLIC ${FETCHCONTENT_SOURCE_DIR_UTF8PROC})
  target_compile_definitions(bitwin_utf8proc PUBLIC UTF8PROC_STATIC)
elseif(EMSCRIPTEN)
  message(FATAL_ERROR "There are no sources of utf8proc (FETCHCONTENT_SOURCE_DIR_UTF8PROC is \"${FETCHCONTENT_SOURCE_DIR_UTF8PROC}\"): run tools/setup, then . tools/env.sh")
else()
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET GLOBAL libutf8proc)
  add_library(bitwin_utf8proc INTERFACE)
  target_link_libraries(bitwin_utf8proc INTERFACE PkgConfig::UTF8PROC)
endif()

# Catch2, version 2 or 3, for the tests; in cross builds the single header of version 2, which needs no library.
if(BITWIN_TESTS)
  add_library(bitwin_catch2 INTERFACE)
  if(CMAKE_CROSSCOMPILING)
    target_include_directories(bitwin_catch2 SYSTEM INTERFACE ${FETCHCONTENT_SOURCE_DIR_CATCH2}/single_include)
    target_compile_definitions(bitwin_catch2 INTERFACE BITWIN_CATCH2_SINGLE_HEADER)
  else()
    find_package(Catch2 REQUIRED)
    target_link_libraries(bitwin_catch2 INTERFACE Catch2::Catch2)
  endif()
endif()
