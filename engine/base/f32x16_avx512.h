// The AVX-512 backend of f32x16.h: one register of 16 lanes. See f32x16_scalar.h for what each function promises.
#pragma once

#include <immintrin.h>

// GCC 12 takes the undefined pass-through operand inside its own AVX-512 intrinsics for a mistake of the caller.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace bitwin {
namespace {

constexpr int kPartWidth = 16;
using F32p = __m512;
using I32p = __m512i;

[[maybe_unused]] inline F32p f32_splat(float x) { return _mm512_set1_ps(x); }
[[maybe_unused]] inline F32p f32_load(const float* p) { return _mm512_loadu_ps(p); }
[[maybe_unused]] inline void f32_store(float* p, F32p a) { _mm512_storeu_ps(p, a); }
[[maybe_unused]] inline F32p f32_add(F32p a, F32p b) { return _mm512_add_ps(a, b); }
[[maybe_unused]] inline F32p f32_sub(F32p a, F32p b) { return _mm512_sub_ps(a, b); }
[[maybe_unused]] inline F32p f32_mul(F32p a, F32p b) { return _mm512_mul_ps(a, b); }
[[maybe_unused]] inline F32p f32_div(F32p a, F32p b) { return _mm512_div_ps(a, b); }
[[maybe_unused]] inline F32p f32_max(F32p a, F32p b) { return _mm512_max_ps(b, a); }
[[maybe_unused]] inline F32p f32_select_less(F32p a, F32p b, F32p x, F32p y) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
}
[[maybe_unused]] inline F32p f32_scale_by_power(F32p a, F32p shifted) {
  return _mm512_castsi512_ps(
      _mm512_add_epi32(_mm512_castps_si512(a), _mm512_slli_epi32(_mm512_castps_si512(shifted), 23)));
}
[[maybe_unused]] inline F32p f32_load_half(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
[[maybe_unused]] inline F32p f32_load_finite_half(const uint16_t* p) { return f32_load_half(p); }
[[maybe_unused]] inline void f32_store_half(uint16_t* p, F32p a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
[[maybe_unused]] inline F32p f32_load_bf16(const uint16_t* p) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
[[maybe_unused]] inline F32p f32_load_u8(const uint8_t* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
[[maybe_unused]] inline F32p f32_load_i8(const int8_t* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
[[maybe_unused]] inline F32p f32_from_i32(I32p a) { return _mm512_cvtepi32_ps(a); }
[[maybe_unused]] inline I32p i32_splat(int32_t x) { return _mm512_set1_epi32(x); }
[[maybe_unused]] inline I32p i32_load(const void* p) { return _mm512_loadu_si512(p); }
[[maybe_unused]] inline I32p i32_add(I32p a, I32p b) { return _mm512_add_epi32(a, b); }
template <int n>
[[maybe_unused]] inline I32p i32_shift_left(I32p a) {
  return _mm512_slli_epi32(a, n);
}
[[maybe_unused]] inline void i32_store(int32_t* p, I32p a) { _mm512_storeu_si512(p, a); }
[[maybe_unused]] inline I32p i32_magnitude(F32p a) {
  return _mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(0x7fffffff));
}
[[maybe_unused]] inline I32p i32_max(I32p a, I32p b) { return _mm512_max_epi32(a, b); }
[[maybe_unused]] inline I32p i32_round(F32p a) { return _mm512_cvtps_epi32(a); }

}  // namespace
}  // namespace bitwin
