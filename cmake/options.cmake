# Compiler options that every target of ours shares.

add_library(bitwin_options INTERFACE)
target_include_directories(bitwin_options INTERFACE ${CMAKE_SOURCE_DIR})
if(MSVC)
  target_compile_options(bitwin_options INTERFACE /W4 /WX /utf-8 /fp:precise)
else()
  # -ffp-contract=off is part of the numeric contract: no product and sum may fuse (docs/numerics.md).
  target_compile_options(bitwin_options INTERFACE -Wall -Wextra -Wshadow -Wvla -Werror -ffp-contract=off -fno-math-errno)
  # GCC 12 takes the standard library's own "text" + std::string for overlapping copies (its bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(bitwin_options INTERFACE -Wno-restrict)
  endif()
endif()
if(BITWIN_SANITIZE)
  target_compile_options(bitwin_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
                                                  -fno-omit-frame-pointer)
  # GCC's sanitizers make it warn wrongly about the standard library's own code.
  target_compile_options(bitwin_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(bitwin_options INTERFACE -fsanitize=address,undefined)
endif()
