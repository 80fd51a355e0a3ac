// WebAssembly SIMD128: 4 rows a register. Bytes are widened to int16 and multiplied in pairs.
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
  static constexpr bool kSignTrick = false;

  // Pairs of (low, high) dots of two columns each, brought together row by row.
  static I32p sum_pairs(I32p acc, v128_t low, v128_t high) {
    return wasm_i32x4_add(
        acc, wasm_i32x4_add(wasm_i32x4_shuffle(low, high, 0, 2, 4, 6), wasm_i32x4_shuffle(low, high, 1, 3, 5, 7)));
  }
  using Sums = I32p;
  static Sums begin_dot(I32p acc, Bytes w, Quad x) { return dot_signed<true>(acc, w, x); }
  static Sums dot(Sums acc, Bytes w, Quad x) { return dot_signed<true>(acc, w, x); }
  static I32p end_dot(I32p, Sums sums) { return sums; }
  template <bool kExact>
  static I32p dot_signed(I32p acc, Bytes w, Quad x) {
    const v128_t wide = wasm_i16x8_extend_low_i8x16(x);
    return sum_pairs(acc, wasm_i32x4_dot_i16x8(wasm_i16x8_extend_low_i8x16(w), wide),
                     wasm_i32x4_dot_i16x8(wasm_i16x8_extend_high_i8x16(w), wide));
  }
};

#include "engine/kernels/matmul.inc"
#include "engine/kernels/ops.inc"

bool supported() { return true; }

}  // namespace

#define BITWIN_TABLE kernel_wasm_simd128
#define BITWIN_TABLE_NAME "wasm-simd128"
#include "engine/kernels/table.inc"

}  // namespace bitwin
