// The SSE4.1 backend of f32x16.h: four registers of 4 lanes. See f32x16_scalar.h for what each function promises.
// FP16 is converted in integer code, without denormal intermediates.
#pragma once

#include <immintrin.h>

namespace bitwin {
namespace {

constexpr int kPartWidth = 4;
using F32p = __m128;
using I32p = __m128i;

[[maybe_unused]] inline F32p f32_splat(float x) { return _mm_set1_ps(x); }
[[maybe_unused]] inline F32p f32_load(const float* p) { return _mm_loadu_ps(p); }
[[maybe_unused]] inline void f32_store(float* p, F32p a) { _mm_storeu_ps(p, a); }
[[maybe_unused]] inline F32p f32_add(F32p a, F32p b) { return _mm_add_ps(a, b); }
[[maybe_unused]] inline F32p f32_sub(F32p a, F32p b) { return _mm_sub_ps(a, b); }
[[maybe_unused]] inline F32p f32_mul(F32p a, F32p b) { return _mm_mul_ps(a, b); }
[[maybe_unused]] inline F32p f32_div(F32p a, F32p b) { return _mm_div_ps(a, b); }
[[maybe_unused]] inline F32p f32_max(F32p a, F32p b) { return _mm_max_ps(b, a); }
[[maybe_unused]] inline F32p f32_select_less(F32p a, F32p b, F32p x, F32p y) {
  return _mm_blendv_ps(y, x, _mm_cmplt_ps(a, b));
}
[[maybe_unused]] inline F32p f32_scale_by_power(F32p a, F32p shifted) {
  return _mm_castsi128_ps(_mm_add_epi32(_mm_castps_si128(a), _mm_slli_epi32(_mm_castps_si128(shifted), 23)));
}
[[maybe_unused]] inline F32p f32_load_half(const uint16_t* p) {
  const __m128i h = _mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  const __m128i sign = _mm_slli_epi32(_mm_and_si128(h, _mm_set1_epi32(0x8000)), 16);
  const __m128i magnitude = _mm_slli_epi32(_mm_and_si128(h, _mm_set1_epi32(0x7fff)), 13);
  const __m128i normal = _mm_add_epi32(magnitude, _mm_set1_epi32(112 << 23));
  const __m128i one = _mm_set1_epi32(113 << 23);
  const __m128 small = _mm_sub_ps(_mm_castsi128_ps(_mm_add_epi32(magnitude, one)), _mm_castsi128_ps(one));
  const __m128i special = _mm_or_si128(magnitude, _mm_set1_epi32(0x7f800000));
  const __m128i is_small = _mm_cmplt_epi32(magnitude, _mm_set1_epi32(0x0400 << 13));
  const __m128i is_special = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32((0x7c00 << 13) - 1));
  __m128i value = _mm_blendv_epi8(normal, _mm_castps_si128(small), is_small);
  value = _mm_blendv_epi8(value, special, is_special);
  return _mm_castsi128_ps(_mm_or_si128(value, sign));
}
[[maybe_unused]] inline F32p f32_load_finite_half(const uint16_t* p) {
  const __m128i h = _mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  const __m128i exponent = _mm_and_si128(h, _mm_set1_epi32(0x7c00));
  const __m128i none = _mm_cmpeq_epi32(exponent, _mm_setzero_si128());
  if (__builtin_expect(_mm_movemask_epi8(none) != 0, 0)) return f32_load_half(p);  // zero or denormal
  const __m128i shifted = _mm_srai_epi32(_mm_slli_epi32(h, 16), 3);                // the sign, three copies of it, the rest
  const __m128i bits = _mm_and_si128(shifted, _mm_set1_epi32(static_cast<int>(0x8fffe000)));
  return _mm_castsi128_ps(_mm_add_epi32(bits, _mm_set1_epi32(112 << 23)));
}
[[maybe_unused]] inline void f32_store_half(uint16_t* p, F32p a) {
  const __m128i bits = _mm_castps_si128(a);
  const __m128i sign = _mm_and_si128(_mm_srli_epi32(bits, 16), _mm_set1_epi32(0x8000));
  const __m128i magnitude = _mm_and_si128(bits, _mm_set1_epi32(0x7fffffff));
  const __m128i odd = _mm_and_si128(_mm_srli_epi32(magnitude, 13), _mm_set1_epi32(1));
  const __m128i rounded = _mm_add_epi32(_mm_add_epi32(magnitude, _mm_set1_epi32(0xfff)), odd);
  const __m128i normal = _mm_srli_epi32(_mm_sub_epi32(rounded, _mm_set1_epi32(112 << 23)), 13);
  // Adding 0.5 aligns the units of 2^-24 with the last mantissa bit and rounds to nearest even.
  const __m128i small = _mm_sub_epi32(
      _mm_castps_si128(_mm_add_ps(_mm_castsi128_ps(magnitude), _mm_set1_ps(0.5f))), _mm_set1_epi32(0x3f000000));
  const __m128i nan =
      _mm_or_si128(_mm_set1_epi32(0x7e00), _mm_and_si128(_mm_srli_epi32(magnitude, 13), _mm_set1_epi32(0x3ff)));
  __m128i half = _mm_blendv_epi8(normal, small, _mm_cmplt_epi32(magnitude, _mm_set1_epi32(0x38800000)));
  half = _mm_blendv_epi8(half, _mm_set1_epi32(0x7c00), _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x47800000 - 1)));
  half = _mm_blendv_epi8(half, nan, _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7f800000)));
  half = _mm_or_si128(half, sign);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi32(half, half));
}
[[maybe_unused]] inline F32p f32_load_bf16(const uint16_t* p) {
  const __m128i wide = _mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  return _mm_castsi128_ps(_mm_slli_epi32(wide, 16));
}
[[maybe_unused]] inline __m128i load_4_bytes(const void* p) {
  int32_t bytes;
  __builtin_memcpy(&bytes, p, 4);
  return _mm_cvtsi32_si128(bytes);
}
[[maybe_unused]] inline F32p f32_load_u8(const uint8_t* p) {
  return _mm_cvtepi32_ps(_mm_cvtepu8_epi32(load_4_bytes(p)));
}
[[maybe_unused]] inline F32p f32_load_i8(const int8_t* p) {
  return _mm_cvtepi32_ps(_mm_cvtepi8_epi32(load_4_bytes(p)));
}
[[maybe_unused]] inline F32p f32_from_i32(I32p a) { return _mm_cvtepi32_ps(a); }
[[maybe_unused]] inline I32p i32_splat(int32_t x) { return _mm_set1_epi32(x); }
[[maybe_unused]] inline I32p i32_load(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
[[maybe_unused]] inline I32p i32_add(I32p a, I32p b) { return _mm_add_epi32(a, b); }
template <int n>
[[maybe_unused]] inline I32p i32_shift_left(I32p a) {
  return _mm_slli_epi32(a, n);
}
[[maybe_unused]] inline void i32_store(int32_t* p, I32p a) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), a); }
[[maybe_unused]] inline I32p i32_magnitude(F32p a) {
  return _mm_and_si128(_mm_castps_si128(a), _mm_set1_epi32(0x7fffffff));
}
[[maybe_unused]] inline I32p i32_max(I32p a, I32p b) { return _mm_max_epi32(a, b); }
[[maybe_unused]] inline I32p i32_round(F32p a) { return _mm_cvtps_epi32(a); }

}  // namespace
}  // namespace bitwin
