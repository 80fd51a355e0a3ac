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
  static constexpr bool kSplitBytes = false;
  static constexpr int kSignedOffset = 0;
  // Rows 0 and 1, rows 2 and 3 in int16; and the sums of column pairs of each.
  struct Weights {
    v128_t low, high;
  };
  struct Sums {
    v128_t low, high;
  };

  static Weights widen(Bytes a) { return {wasm_i16x8_extend_low_i8x16(a), wasm_i16x8_extend_high_i8x16(a)}; }
  static Sums begin_dot(I32p, Weights w, Quad x) {
    const v128_t wide = wasm_i16x8_extend_low_i8x16(x);
    return {wasm_i32x4_dot_i16x8(w.low, wide), wasm_i32x4_dot_i16x8(w.high, wide)};
  }
  static Sums dot(Sums sums, Weights w, Quad x) {
    const Sums more = begin_dot(sums.low, w, x);
    return {wasm_i32x4_add(sums.low, more.low), wasm_i32x4_add(sums.high, more.high)};
  }
  static I32p end_dot(I32p acc, Sums sums) {
    return wasm_i32x4_add(acc, wasm_i32x4_add(wasm_i32x4_shuffle(sums.low, sums.high, 0, 2, 4, 6),
                                              wasm_i32x4_shuffle(sums.low, sums.high, 1, 3, 5, 7)));
  }
  static Bytes prepare_signed(Bytes a) { return a; }
};

#include "engine/kernels/matmul.inc"
#include "engine/kernels/dot_peak.inc"
#include "engine/kernels/ops.inc"

bool supported() { return true; }

}  // namespace

#define BITWIN_TABLE kernel_wasm_simd128
#define BITWIN_TABLE_NAME "wasm-simd128"
#include "engine/kernels/table.inc"

}  // namespace bitwin
