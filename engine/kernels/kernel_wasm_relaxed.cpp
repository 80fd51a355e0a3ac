// WebAssembly relaxed SIMD: 4 rows a register. The relaxed dot is only defined alike on all machines when its second
// operand is in 0..127. Weights below 8 bits are; for 8-bit weights |x| is that operand and x's sign moves onto the
// weights, except where some weight is -128, which takes int16 products. No relaxed float operation is used.
#include <wasm_simd128.h>

#include "engine/base/f32x16.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/layout.h"

namespace bitwin {
namespace {

#include "engine/kernels/common.inc"
#include "engine/kernels/wasm_bytes.inc"

struct Isa : WasmBytes {
  static constexpr int kTokens = 32;
  using Sums = v128_t;  // of two columns, int16
  static constexpr bool kSignTrick = true;

  static Sums begin_dot(I32p, Bytes w, Quad x) { return wasm_i16x8_relaxed_dot_i8x16_i7x16(x, w); }
  static Sums dot(Sums sums, Bytes w, Quad x) {
    return wasm_i16x8_add(sums, wasm_i16x8_relaxed_dot_i8x16_i7x16(x, w));
  }
  static I32p end_dot(I32p acc, Sums sums) { return wasm_i32x4_add(acc, wasm_i32x4_extadd_pairwise_i16x8(sums)); }
  template <bool kExact>
  static I32p dot_signed(I32p acc, Bytes w, Quad x) {
    if constexpr (kExact) {
      const v128_t wide = wasm_i16x8_extend_low_i8x16(x);
      const v128_t low = wasm_i32x4_dot_i16x8(wasm_i16x8_extend_low_i8x16(w), wide);
      const v128_t high = wasm_i32x4_dot_i16x8(wasm_i16x8_extend_high_i8x16(w), wide);
      return wasm_i32x4_add(
          acc, wasm_i32x4_add(wasm_i32x4_shuffle(low, high, 0, 2, 4, 6), wasm_i32x4_shuffle(low, high, 1, 3, 5, 7)));
    } else {
      const v128_t sign = wasm_i8x16_shr(x, 7);
      const v128_t signed_weights = wasm_i8x16_sub(wasm_v128_xor(w, sign), sign);
      return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(signed_weights, wasm_i8x16_abs(x), acc);
    }
  }
};

#include "engine/kernels/matmul.inc"
#include "engine/kernels/ops.inc"

bool supported() { return true; }

}  // namespace

#define BITWIN_TABLE kernel_wasm_relaxed
#define BITWIN_TABLE_NAME "wasm-relaxed"
#include "engine/kernels/table.inc"

}  // namespace bitwin
