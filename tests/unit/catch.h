// Catch2 in either of the versions that Debian ships (2.13 and 3.7); cross builds take the single header of the former.
#pragma once

#if !defined(BITWIN_CATCH2_SINGLE_HEADER) && __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
