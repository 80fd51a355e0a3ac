// A vector of 16 floats with the same results on every instruction set (docs/numerics.md).
//
// Kernel files include this and get the widest form their compile options allow, or the scalar one where BITWIN_SCALAR
// is defined; everything here has internal linkage, so that code built for one instruction set can never be linked into
// code meant for another. A backend defines a native part of kPartWidth lanes (F32p, I32p and their functions); F32x16
// is made of 16 / kPartWidth parts.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(BITWIN_SCALAR)
#include "engine/base/f32x16_scalar.h"
#elif defined(__AVX512F__) && defined(__AVX512BW__)
#include "engine/base/f32x16_avx512.h"
#elif defined(__AVX2__) && defined(__F16C__)
#include "engine/base/f32x16_avx2.h"
#elif defined(__SSE4_1__)
#include "engine/base/f32x16_sse.h"
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include "engine/base/f32x16_neon.h"
#elif defined(__wasm_simd128__)
#include "engine/base/f32x16_wasm.h"
#else
#include "engine/base/f32x16_scalar.h"
#endif

namespace bitwin {
namespace {

constexpr int kParts = 16 / kPartWidth;

struct F32x16 {
  F32p part[kParts];
};

#define BITWIN_LANEWISE_(name, function)                                         \
  [[maybe_unused]] inline F32x16 name(const F32x16& a, const F32x16& b) {        \
    F32x16 r;                                                                    \
    for (int i = 0; i < kParts; ++i) r.part[i] = function(a.part[i], b.part[i]); \
    return r;                                                                    \
  }
BITWIN_LANEWISE_(add, f32_add)
BITWIN_LANEWISE_(sub, f32_sub)
BITWIN_LANEWISE_(mul, f32_mul)
BITWIN_LANEWISE_(div, f32_div)
BITWIN_LANEWISE_(max, f32_max)  // a < b ? b : a
#undef BITWIN_LANEWISE_

[[maybe_unused]] inline F32x16 splat(float x) {
  F32x16 r;
  for (int i = 0; i < kParts; ++i) r.part[i] = f32_splat(x);
  return r;
}

[[maybe_unused]] inline F32x16 load(const float* p) {
  F32x16 r;
  for (int i = 0; i < kParts; ++i) r.part[i] = f32_load(p + i * kPartWidth);
  return r;
}

[[maybe_unused]] inline void store(float* p, const F32x16& a) {
  for (int i = 0; i < kParts; ++i) f32_store(p + i * kPartWidth, a.part[i]);
}

// The first n of 16 lanes from memory, the others `fill`.
[[maybe_unused]] inline F32x16 load_first(const float* p, int64_t n, float fill) {
  alignas(64) float lanes[16];
  for (int i = 0; i < 16; ++i) lanes[i] = i < n ? p[i] : fill;
  return load(lanes);
}

[[maybe_unused]] inline void store_first(float* p, const F32x16& a, int64_t n) {
  alignas(64) float lanes[16];
  store(lanes, a);
  for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
}

// 16 FP16 values, exactly.
[[maybe_unused]] inline F32x16 load_half(const uint16_t* p) {
  F32x16 r;
  for (int i = 0; i < kParts; ++i) r.part[i] = f32_load_half(p + i * kPartWidth);
  return r;
}

// To FP16, round to nearest even.
[[maybe_unused]] inline void store_half(uint16_t* p, const F32x16& a) {
  for (int i = 0; i < kParts; ++i) f32_store_half(p + i * kPartWidth, a.part[i]);
}

// The sum of the lanes by the fixed tree 8, 4, 2, 1: lane l takes l + 8, then l + 4, and so on.
[[maybe_unused]] inline float reduce_add(const F32x16& a) {
  alignas(64) float v[16];
  store(v, a);
  for (int half = 8; half >= 1; half /= 2)
    for (int l = 0; l < half; ++l) v[l] = v[l] + v[l + half];
  return v[0];
}

[[maybe_unused]] inline float reduce_max(const F32x16& a) {
  alignas(64) float v[16];
  store(v, a);
  for (int half = 8; half >= 1; half /= 2)
    for (int l = 0; l < half; ++l) v[l] = v[l] < v[l + half] ? v[l + half] : v[l];
  return v[0];
}

// exp of each lane: 0 below -87, exp(87) above 87, so that neither it nor 1 / (1 + exp) is denormal or infinite.
// Reduction to r = x - n ln 2 with ln 2 in two parts (Cody-Waite), then the Taylor polynomial of degree 7 on
// |r| <= 0.3466, whose truncation error is below 2^-27 relative.
[[maybe_unused]] inline F32x16 exp(const F32x16& x) {
  F32x16 r;
  for (int i = 0; i < kParts; ++i) {
    const F32p low = f32_splat(-87.0f);
    const F32p high = f32_splat(87.0f);
    F32p v = f32_max(x.part[i], low);
    v = f32_select_less(high, v, high, v);
    // Adding 1.5 * 2^23 rounds to the nearest integer, ties to even, and leaves it in the low mantissa bits.
    const F32p magic = f32_splat(12582912.0f);
    const F32p shifted = f32_add(f32_mul(v, f32_splat(1.44269504f)), magic);
    const F32p n = f32_sub(shifted, magic);
    F32p t = f32_sub(v, f32_mul(n, f32_splat(0.693359375f)));
    t = f32_sub(t, f32_mul(n, f32_splat(-2.12194440e-4f)));
    F32p p = f32_splat(1.0f / 5040.0f);
    p = f32_add(f32_mul(p, t), f32_splat(1.0f / 720.0f));
    p = f32_add(f32_mul(p, t), f32_splat(1.0f / 120.0f));
    p = f32_add(f32_mul(p, t), f32_splat(1.0f / 24.0f));
    p = f32_add(f32_mul(p, t), f32_splat(1.0f / 6.0f));
    p = f32_add(f32_mul(p, t), f32_splat(0.5f));
    p = f32_add(f32_mul(p, t), f32_splat(1.0f));
    p = f32_add(f32_mul(p, t), f32_splat(1.0f));
    p = f32_scale_by_power(p, shifted);
    r.part[i] = f32_select_less(x.part[i], low, f32_splat(0.0f), p);
  }
  return r;
}

}  // namespace
}  // namespace bitwin
