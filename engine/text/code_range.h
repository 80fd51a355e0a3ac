// Sets of code points as ranges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace bitwin {

struct CodeRange {
  char32_t first, last;
};

// Whether a code point is in one of the ranges, which ascend.
template <size_t kSize>
bool within(const CodeRange (&ranges)[kSize], char32_t code) {
  const CodeRange* range =
      std::partition_point(std::begin(ranges), std::end(ranges), [&](const CodeRange& r) { return r.last < code; });
  return range != std::end(ranges) && range->first <= code;
}

}  // namespace bitwin
