// The scalar backend of f32x16.h: plain C++, the definition that every other backend must equal.
#pragma once

#include <cstdint>

namespace bitwin {
namespace {

constexpr int kPartWidth = 16;

struct F32p {
  float v[16];
};
struct I32p {
  int32_t v[16];
};

inline uint32_t float_bits(float x) {
  uint32_t u;
  __builtin_memcpy(&u, &x, 4);
  return u;
}
inline float bits_float(uint32_t u) {
  float x;
  __builtin_memcpy(&x, &u, 4);
  return x;
}

inline float half_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(h & 0x7fffu) << 13;
  float value;
  if (magnitude >= (0x7c00u << 13)) {
    value = bits_float(magnitude | 0x7f800000u);  // infinity and NaN
  } else if (magnitude >= (0x0400u << 13)) {
    value = bits_float(magnitude + (112u << 23));
  } else {
    value = bits_float(magnitude + (113u << 23)) - bits_float(113u << 23);  // zero and denormals, exactly
  }
  return bits_float(float_bits(value) | sign);
}

inline uint16_t float_to_half(float x) {
  const uint32_t bits = float_bits(x);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Adding 0.5 aligns the units of 2^-24 with the last mantissa bit and rounds to nearest even.
    const float shifted = bits_float(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (float_bits(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - (112u << 23)) >> 13));
}

#define BITWIN_EACH_(expression)                              \
  F32p r;                                                     \
  for (int i = 0; i < kPartWidth; ++i) r.v[i] = (expression); \
  return r

[[maybe_unused]] inline F32p f32_splat(float x) { BITWIN_EACH_(x); }
[[maybe_unused]] inline F32p f32_load(const float* p) { BITWIN_EACH_(p[i]); }
[[maybe_unused]] inline void f32_store(float* p, const F32p& a) {
  for (int i = 0; i < kPartWidth; ++i) p[i] = a.v[i];
}
[[maybe_unused]] inline F32p f32_add(const F32p& a, const F32p& b) { BITWIN_EACH_(a.v[i] + b.v[i]); }
[[maybe_unused]] inline F32p f32_sub(const F32p& a, const F32p& b) { BITWIN_EACH_(a.v[i] - b.v[i]); }
[[maybe_unused]] inline F32p f32_mul(const F32p& a, const F32p& b) { BITWIN_EACH_(a.v[i] * b.v[i]); }
[[maybe_unused]] inline F32p f32_div(const F32p& a, const F32p& b) { BITWIN_EACH_(a.v[i] / b.v[i]); }
[[maybe_unused]] inline F32p f32_max(const F32p& a, const F32p& b) { BITWIN_EACH_(a.v[i] < b.v[i] ? b.v[i] : a.v[i]); }
// a < b ? x : y
[[maybe_unused]] inline F32p f32_select_less(const F32p& a, const F32p& b, const F32p& x, const F32p& y) {
  BITWIN_EACH_(a.v[i] < b.v[i] ? x.v[i] : y.v[i]);
}
// a * 2^n, where `shifted` is n + 1.5 * 2^23 and the product is a normal number.
[[maybe_unused]] inline F32p f32_scale_by_power(const F32p& a, const F32p& shifted) {
  BITWIN_EACH_(bits_float(float_bits(a.v[i]) + (float_bits(shifted.v[i]) << 23)));
}
[[maybe_unused]] inline F32p f32_load_half(const uint16_t* p) { BITWIN_EACH_(half_to_float(p[i])); }
// The same for values known to be finite, which is faster where FP16 is converted in integer code.
[[maybe_unused]] inline F32p f32_load_finite_half(const uint16_t* p) { return f32_load_half(p); }
[[maybe_unused]] inline void f32_store_half(uint16_t* p, const F32p& a) {
  for (int i = 0; i < kPartWidth; ++i) p[i] = float_to_half(a.v[i]);
}
[[maybe_unused]] inline F32p f32_load_bf16(const uint16_t* p) {
  BITWIN_EACH_(bits_float(static_cast<uint32_t>(p[i]) << 16));
}
[[maybe_unused]] inline F32p f32_load_u8(const uint8_t* p) { BITWIN_EACH_(static_cast<float>(p[i])); }
[[maybe_unused]] inline F32p f32_load_i8(const int8_t* p) { BITWIN_EACH_(static_cast<float>(p[i])); }
[[maybe_unused]] inline F32p f32_from_i32(const I32p& a) { BITWIN_EACH_(static_cast<float>(a.v[i])); }
#undef BITWIN_EACH_

[[maybe_unused]] inline I32p i32_splat(int32_t x) {
  I32p r;
  for (int i = 0; i < kPartWidth; ++i) r.v[i] = x;
  return r;
}
[[maybe_unused]] inline I32p i32_load(const void* p) {
  I32p r;
  __builtin_memcpy(r.v, p, sizeof r.v);
  return r;
}
// Wraps around.
[[maybe_unused]] inline I32p i32_add(const I32p& a, const I32p& b) {
  I32p r;
  for (int i = 0; i < kPartWidth; ++i)
    r.v[i] = static_cast<int32_t>(static_cast<uint32_t>(a.v[i]) + static_cast<uint32_t>(b.v[i]));
  return r;
}
template <int n>
[[maybe_unused]] inline I32p i32_shift_left(const I32p& a) {
  I32p r;
  for (int i = 0; i < kPartWidth; ++i) r.v[i] = static_cast<int32_t>(static_cast<uint32_t>(a.v[i]) << n);
  return r;
}
[[maybe_unused]] inline void i32_store(int32_t* p, const I32p& a) {
  for (int i = 0; i < kPartWidth; ++i) p[i] = a.v[i];
}
// The bit patterns of |a|; their integer order is the order of the magnitudes, NaN above infinity.
[[maybe_unused]] inline I32p i32_magnitude(const F32p& a) {
  I32p r;
  for (int i = 0; i < kPartWidth; ++i) r.v[i] = static_cast<int32_t>(float_bits(a.v[i]) & 0x7fffffffu);
  return r;
}
[[maybe_unused]] inline I32p i32_max(const I32p& a, const I32p& b) {
  I32p r;
  for (int i = 0; i < kPartWidth; ++i) r.v[i] = a.v[i] < b.v[i] ? b.v[i] : a.v[i];
  return r;
}
// To the nearest integer, ties to even; |a| < 2^22.
[[maybe_unused]] inline I32p i32_round(const F32p& a) {
  I32p r;
  for (int i = 0; i < kPartWidth; ++i) r.v[i] = static_cast<int32_t>((a.v[i] + 12582912.0f) - 12582912.0f);
  return r;
}

}  // namespace
}  // namespace bitwin
