// The NEON backend of f32x16.h: four registers of 4 lanes. See f32x16_scalar.h for what each function promises.
// Products and sums are never fused, and the maximum is a comparison, since fmax treats NaN and -0 otherwise.
#pragma once

#include <arm_neon.h>

namespace bitwin {
namespace {

constexpr int kPartWidth = 4;
using F32p = float32x4_t;
using I32p = int32x4_t;

[[maybe_unused]] inline F32p f32_splat(float x) { return vdupq_n_f32(x); }
[[maybe_unused]] inline F32p f32_load(const float* p) { return vld1q_f32(p); }
[[maybe_unused]] inline void f32_store(float* p, F32p a) { vst1q_f32(p, a); }
[[maybe_unused]] inline F32p f32_add(F32p a, F32p b) { return vaddq_f32(a, b); }
[[maybe_unused]] inline F32p f32_sub(F32p a, F32p b) { return vsubq_f32(a, b); }
[[maybe_unused]] inline F32p f32_mul(F32p a, F32p b) { return vmulq_f32(a, b); }
[[maybe_unused]] inline F32p f32_div(F32p a, F32p b) { return vdivq_f32(a, b); }
[[maybe_unused]] inline F32p f32_max(F32p a, F32p b) { return vbslq_f32(vcltq_f32(a, b), b, a); }
[[maybe_unused]] inline F32p f32_select_less(F32p a, F32p b, F32p x, F32p y) {
  return vbslq_f32(vcltq_f32(a, b), x, y);
}
[[maybe_unused]] inline F32p f32_scale_by_power(F32p a, F32p shifted) {
  return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(a), vshlq_n_s32(vreinterpretq_s32_f32(shifted), 23)));
}
[[maybe_unused]] inline F32p f32_load_half(const uint16_t* p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
[[maybe_unused]] inline F32p f32_load_finite_half(const uint16_t* p) { return f32_load_half(p); }
[[maybe_unused]] inline void f32_store_half(uint16_t* p, F32p a) {
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(a)));
}
[[maybe_unused]] inline F32p f32_load_bf16(const uint16_t* p) {
  return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}
[[maybe_unused]] inline F32p f32_load_u8(const uint8_t* p) {
  uint32_t bytes;
  __builtin_memcpy(&bytes, p, 4);
  return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bytes)))));
}
[[maybe_unused]] inline F32p f32_load_i8(const int8_t* p) {
  uint32_t bytes;
  __builtin_memcpy(&bytes, p, 4);
  return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(bytes)))));
}
[[maybe_unused]] inline F32p f32_from_i32(I32p a) { return vcvtq_f32_s32(a); }
[[maybe_unused]] inline I32p i32_splat(int32_t x) { return vdupq_n_s32(x); }
[[maybe_unused]] inline I32p i32_load(const void* p) { return vreinterpretq_s32_u8(vld1q_u8(static_cast<const uint8_t*>(p))); }
[[maybe_unused]] inline I32p i32_add(I32p a, I32p b) { return vaddq_s32(a, b); }
template <int n>
[[maybe_unused]] inline I32p i32_shift_left(I32p a) {
  return vshlq_n_s32(a, n);
}
[[maybe_unused]] inline void i32_store(int32_t* p, I32p a) { vst1q_s32(p, a); }
[[maybe_unused]] inline I32p i32_magnitude(F32p a) {
  return vandq_s32(vreinterpretq_s32_f32(a), vdupq_n_s32(0x7fffffff));
}
[[maybe_unused]] inline I32p i32_max(I32p a, I32p b) { return vmaxq_s32(a, b); }
[[maybe_unused]] inline I32p i32_round(F32p a) { return vcvtnq_s32_f32(a); }

}  // namespace
}  // namespace bitwin
