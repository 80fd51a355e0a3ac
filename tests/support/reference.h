// Straightforward definitions that the engine's packing and kernels are tested against: ggml's block formats element by
// element, and the products and layer operations of docs/numerics.md one rounding at a time.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/base/tensor_type.h"

namespace bitwin::testing {

inline float half_value(uint16_t h) {
  const int exponent = h >> 10 & 31;
  const int mantissa = h & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return static_cast<float>(h & 0x8000 ? -magnitude : magnitude);
}

inline float half_at(const uint8_t* p) { return half_value(static_cast<uint16_t>(p[0] | p[1] << 8)); }

// One weight of a quantised row: value = scale * q - minimum, q with its offset already subtracted.
struct Weight {
  int q;
  float scale;
  float minimum;
};

// Element k of a row that begins at `row`, of one of the eight quantised types.
inline Weight weight_at(TensorType type, const uint8_t* row, int64_t k) {
  const TensorTypeInfo* info = tensor_type_info(type);
  const uint8_t* b = row + k / info->block * info->bytes;
  const int i = static_cast<int>(k % info->block);
  const auto nibble = [&](const uint8_t* p) { return i < 16 ? p[i] & 15 : p[i - 16] >> 4; };
  const auto fifth = [&](const uint8_t* p) { return (p[i / 8] >> i % 8 & 1) * 16; };
  // Sub-scale and sub-minimum j of the K types: six bits each in twelve bytes.
  const auto sub = [](const uint8_t* p, int j, bool minimum) {
    if (j < 4) return p[minimum ? j + 4 : j] & 63;
    const int low = minimum ? p[j + 4] >> 4 : p[j + 4] & 15;
    const int high = (minimum ? p[j] : p[j - 4]) >> 6;
    return low | high << 4;
  };
  switch (type) {
    case TensorType::q8_0:
      return {static_cast<int8_t>(b[2 + i]), half_at(b), 0.0f};
    case TensorType::q4_0:
      return {nibble(b + 2) - 8, half_at(b), 0.0f};
    case TensorType::q4_1:
      return {nibble(b + 4), half_at(b), -half_at(b + 2)};
    case TensorType::q5_0:
      return {nibble(b + 6) + fifth(b + 2) - 16, half_at(b), 0.0f};
    case TensorType::q5_1:
      return {nibble(b + 8) + fifth(b + 4), half_at(b), -half_at(b + 2)};
    case TensorType::q4_k: {
      const uint8_t byte = b[16 + i / 64 * 32 + i % 32];
      const int j = i / 32;
      return {i % 64 < 32 ? byte & 15 : byte >> 4, half_at(b) * static_cast<float>(sub(b + 4, j, false)),
              half_at(b + 2) * static_cast<float>(sub(b + 4, j, true))};
    }
    case TensorType::q5_k: {
      const uint8_t byte = b[48 + i / 64 * 32 + i % 32];
      const int j = i / 32;
      const int high = b[16 + i % 32] >> j & 1;
      return {(i % 64 < 32 ? byte & 15 : byte >> 4) + 16 * high, half_at(b) * static_cast<float>(sub(b + 4, j, false)),
              half_at(b + 2) * static_cast<float>(sub(b + 4, j, true))};
    }
    case TensorType::q6_k: {
      const int half = i / 128;
      const int within = i % 128;
      const uint8_t low = b[half * 64 + within % 64];
      const uint8_t high = b[128 + half * 32 + within % 32];
      const int q = (within < 64 ? low & 15 : low >> 4) | (high >> within / 32 * 2 & 3) << 4;
      return {q - 32, half_at(b + 208) * static_cast<float>(static_cast<int8_t>(b[192 + i / 16])), 0.0f};
    }
    default:
      return {0, 0.0f, 0.0f};
  }
}

// Element k of a row of F32, F16 or BF16.
inline float float_at(TensorType type, const uint8_t* row, int64_t k) {
  if (type == TensorType::f16) return half_at(row + 2 * k);
  uint32_t bits = 0;
  if (type == TensorType::bf16) {
    uint16_t high;
    std::memcpy(&high, row + 2 * k, 2);
    bits = static_cast<uint32_t>(high) << 16;
  } else {
    std::memcpy(&bits, row + 4 * k, 4);
  }
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

// Activations quantised per group of 32.
struct Quantized {
  std::vector<int8_t> q;
  std::vector<float> scale;
  std::vector<int32_t> sum;
  std::vector<float> offset;
};

inline Quantized quantize(const float* x, int64_t n) {
  Quantized r;
  for (int64_t begin = 0; begin < n; begin += 32) {
    float most = 0.0f;
    for (int64_t i = begin; i < begin + 32 && i < n; ++i) most = std::max(most, std::fabs(x[i]));
    const bool zero = most < std::ldexp(1.0f, -100);
    const float factor = zero ? 0.0f : 127.0f / most;
    r.scale.push_back(zero ? 0.0f : most / 127.0f);
    for (int half = 0; half < 2; ++half) {
      int32_t sum = 0;
      for (int64_t i = begin + half * 16; i < begin + half * 16 + 16; ++i) {
        const float scaled = i < n && !zero ? x[i] * factor : 0.0f;
        const int rounded = static_cast<int>(std::nearbyint(scaled));
        r.q.push_back(static_cast<int8_t>(rounded));
        sum += rounded;
      }
      r.sum.push_back(sum);
    }
    r.offset.push_back(static_cast<float>(r.sum[r.sum.size() - 2] + r.sum.back()) * r.scale.back());
  }
  return r;
}

// One output of a quantised product: row bytes times quantised activations.
inline float quantized_dot(TensorType type, const uint8_t* row, int64_t cols, const Quantized& x) {
  const int64_t width = type == TensorType::q6_k ? 16 : 32;  // columns under one weight scale
  float acc = 0.0f;
  float minimums = 0.0f;
  for (int64_t k = 0; k < cols; k += width) {
    int32_t dot = 0;
    for (int64_t i = k; i < k + width; ++i) dot += weight_at(type, row, i).q * x.q[static_cast<size_t>(i)];
    const Weight w = weight_at(type, row, k);
    const size_t group = static_cast<size_t>(k / 32);
    const float scale = w.scale * x.scale[group];
    const float product = static_cast<float>(dot) * scale;
    acc = acc + product;
    const float minimum = w.minimum * x.offset[group];
    minimums = minimums + minimum;
  }
  const bool has_minimum =
      type == TensorType::q4_1 || type == TensorType::q5_1 || type == TensorType::q4_k || type == TensorType::q5_k;
  return has_minimum ? acc - minimums : acc;
}

inline float float_dot(TensorType type, const uint8_t* row, int64_t cols, const float* x) {
  float acc = 0.0f;
  for (int64_t k = 0; k < cols; ++k) {
    const float product = float_at(type, row, k) * x[k];
    acc = acc + product;
  }
  return acc;
}

// The sum in 16 lanes and the fixed tree.
inline float lane_sum(const std::vector<float>& terms) {
  float lanes[16] = {};
  for (size_t i = 0; i < terms.size(); ++i) lanes[i % 16] = lanes[i % 16] + terms[i];
  for (int half = 8; half >= 1; half /= 2)
    for (int l = 0; l < half; ++l) lanes[l] = lanes[l] + lanes[l + half];
  return lanes[0];
}

}  // namespace bitwin::testing
