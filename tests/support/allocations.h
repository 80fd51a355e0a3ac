// Watches operator new. Linking this replaces the program's allocation functions.
#pragma once

#include <cstddef>

namespace bitwin::testing {

// Forgets what was seen so far.
void reset_largest_allocation();
// Bytes of the largest single allocation since.
size_t largest_allocation();

}  // namespace bitwin::testing
