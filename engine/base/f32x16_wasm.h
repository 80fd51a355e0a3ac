// The WebAssembly SIMD128 backend of f32x16.h: four registers of 4 lanes. See f32x16_scalar.h for what each function
// promises. FP16 is converted in integer code, without denormal intermediates.
#pragma once

#include <wasm_simd128.h>

namespace bitwin {
namespace {

constexpr int kPartWidth = 4;
using F32p = v128_t;
using I32p = v128_t;

[[maybe_unused]] inline F32p f32_splat(float x) { return wasm_f32x4_splat(x); }
[[maybe_unused]] inline F32p f32_load(const float* p) { return wasm_v128_load(p); }
[[maybe_unused]] inline void f32_store(float* p, F32p a) { wasm_v128_store(p, a); }
[[maybe_unused]] inline F32p f32_add(F32p a, F32p b) { return wasm_f32x4_add(a, b); }
[[maybe_unused]] inline F32p f32_sub(F32p a, F32p b) { return wasm_f32x4_sub(a, b); }
[[maybe_unused]] inline F32p f32_mul(F32p a, F32p b) { return wasm_f32x4_mul(a, b); }
[[maybe_unused]] inline F32p f32_div(F32p a, F32p b) { return wasm_f32x4_div(a, b); }
[[maybe_unused]] inline F32p f32_max(F32p a, F32p b) { return wasm_f32x4_pmax(a, b); }
[[maybe_unused]] inline F32p f32_select_less(F32p a, F32p b, F32p x, F32p y) {
  return wasm_v128_bitselect(x, y, wasm_f32x4_lt(a, b));
}
[[maybe_unused]] inline F32p f32_scale_by_power(F32p a, F32p shifted) {
  return wasm_i32x4_add(a, wasm_i32x4_shl(shifted, 23));
}
[[maybe_unused]] inline F32p f32_load_half(const uint16_t* p) {
  const v128_t h = wasm_u32x4_load16x4(p);
  const v128_t sign = wasm_i32x4_shl(wasm_v128_and(h, wasm_i32x4_splat(0x8000)), 16);
  const v128_t magnitude = wasm_i32x4_shl(wasm_v128_and(h, wasm_i32x4_splat(0x7fff)), 13);
  const v128_t normal = wasm_i32x4_add(magnitude, wasm_i32x4_splat(112 << 23));
  const v128_t small =
      wasm_f32x4_sub(wasm_i32x4_add(magnitude, wasm_i32x4_splat(113 << 23)), wasm_i32x4_splat(113 << 23));
  const v128_t special = wasm_v128_or(magnitude, wasm_i32x4_splat(0x7f800000));
  v128_t value = wasm_v128_bitselect(small, normal, wasm_i32x4_lt(magnitude, wasm_i32x4_splat(0x0400 << 13)));
  value = wasm_v128_bitselect(special, value, wasm_i32x4_ge(magnitude, wasm_i32x4_splat(0x7c00 << 13)));
  return wasm_v128_or(value, sign);
}
[[maybe_unused]] inline F32p f32_load_finite_half(const uint16_t* p) {
  const v128_t h = wasm_u32x4_load16x4(p);
  const v128_t exponent = wasm_v128_and(h, wasm_i32x4_splat(0x7c00));
  if (__builtin_expect(!wasm_i32x4_all_true(exponent), 0)) return f32_load_half(p);  // zero or denormal
  const v128_t shifted = wasm_i32x4_shr(wasm_i32x4_shl(h, 16), 3);                   // the sign, three copies of it, the rest
  return wasm_i32x4_add(wasm_v128_and(shifted, wasm_i32x4_splat(static_cast<int>(0x8fffe000))),
                        wasm_i32x4_splat(112 << 23));
}
[[maybe_unused]] inline void f32_store_half(uint16_t* p, F32p a) {
  const v128_t sign = wasm_v128_and(wasm_u32x4_shr(a, 16), wasm_i32x4_splat(0x8000));
  const v128_t magnitude = wasm_v128_and(a, wasm_i32x4_splat(0x7fffffff));
  const v128_t odd = wasm_v128_and(wasm_u32x4_shr(magnitude, 13), wasm_i32x4_splat(1));
  const v128_t rounded = wasm_i32x4_add(wasm_i32x4_add(magnitude, wasm_i32x4_splat(0xfff)), odd);
  const v128_t normal = wasm_u32x4_shr(wasm_i32x4_sub(rounded, wasm_i32x4_splat(112 << 23)), 13);
  const v128_t small = wasm_i32x4_sub(wasm_f32x4_add(magnitude, wasm_f32x4_splat(0.5f)), wasm_i32x4_splat(0x3f000000));
  const v128_t nan =
      wasm_v128_or(wasm_i32x4_splat(0x7e00), wasm_v128_and(wasm_u32x4_shr(magnitude, 13), wasm_i32x4_splat(0x3ff)));
  v128_t half = wasm_v128_bitselect(small, normal, wasm_i32x4_lt(magnitude, wasm_i32x4_splat(0x38800000)));
  half = wasm_v128_bitselect(wasm_i32x4_splat(0x7c00), half, wasm_i32x4_ge(magnitude, wasm_i32x4_splat(0x47800000)));
  half = wasm_v128_bitselect(nan, half, wasm_i32x4_gt(magnitude, wasm_i32x4_splat(0x7f800000)));
  half = wasm_v128_or(half, sign);
  const v128_t packed = wasm_u16x8_narrow_i32x4(half, half);
  wasm_v128_store64_lane(p, packed, 0);
}
[[maybe_unused]] inline F32p f32_load_bf16(const uint16_t* p) { return wasm_i32x4_shl(wasm_u32x4_load16x4(p), 16); }
[[maybe_unused]] inline F32p f32_load_u8(const uint8_t* p) {
  // Put below the exponent of 2^23: a conversion would become the unsigned one, nine instructions on x86.
  const v128_t wide = wasm_u32x4_extend_low_u16x8(wasm_u16x8_extend_low_u8x16(wasm_v128_load32_zero(p)));
  return wasm_f32x4_sub(wasm_v128_or(wide, wasm_i32x4_splat(0x4b000000)), wasm_f32x4_splat(8388608.0f));
}
[[maybe_unused]] inline F32p f32_load_i8(const int8_t* p) {
  return wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(p))));
}
[[maybe_unused]] inline F32p f32_from_i32(I32p a) { return wasm_f32x4_convert_i32x4(a); }
[[maybe_unused]] inline I32p i32_splat(int32_t x) { return wasm_i32x4_splat(x); }
[[maybe_unused]] inline I32p i32_load(const void* p) { return wasm_v128_load(p); }
[[maybe_unused]] inline I32p i32_add(I32p a, I32p b) { return wasm_i32x4_add(a, b); }
template <int n>
[[maybe_unused]] inline I32p i32_shift_left(I32p a) {
  return wasm_i32x4_shl(a, n);
}
[[maybe_unused]] inline void i32_store(int32_t* p, I32p a) { wasm_v128_store(p, a); }
[[maybe_unused]] inline I32p i32_magnitude(F32p a) { return wasm_v128_and(a, wasm_i32x4_splat(0x7fffffff)); }
[[maybe_unused]] inline I32p i32_max(I32p a, I32p b) { return wasm_i32x4_max(a, b); }
[[maybe_unused]] inline I32p i32_round(F32p a) { return wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest(a)); }

}  // namespace
}  // namespace bitwin
