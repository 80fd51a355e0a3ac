// Activations for tests of kernels, and comparison of floats by their bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/support/random.h"

namespace bitwin::testing {

inline uint32_t bits(float x) {
  uint32_t u;
  std::memcpy(&u, &x, 4);
  return u;
}

inline int64_t differing(const float* a, const float* b, size_t n) {
  int64_t count = 0;
  for (size_t i = 0; i < n; ++i) count += bits(a[i]) != bits(b[i]);
  return count;
}

// How activations are drawn; each is a way for a kernel to go wrong.
enum class Pattern { normal, extremes, outliers, zeros, tiny };

inline std::vector<float> activations(Pattern pattern, size_t n, uint64_t seed) {
  Random random(seed);
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) {
    switch (pattern) {
      case Pattern::normal:
        x[i] = static_cast<float>(random.normal());
        break;
      case Pattern::extremes:
        x[i] = random.integer(0, 1) ? 3.0f : -3.0f;
        break;  // quantises to 127 and -127
      case Pattern::outliers:
        x[i] = static_cast<float>(i % 50 == 7 ? 4000.0 * random.normal() : 0.01 * random.normal());
        break;
      case Pattern::zeros:
        x[i] = random.integer(0, 3) ? 0.0f : -0.0f;
        break;
      case Pattern::tiny:
        x[i] = std::ldexp(static_cast<float>(random.normal()), static_cast<int>(random.integer(-110, -90)));
        break;
    }
  }
  return x;
}

inline constexpr Pattern kPatterns[] = {Pattern::normal, Pattern::extremes, Pattern::outliers, Pattern::zeros, Pattern::tiny};

}  // namespace bitwin::testing
