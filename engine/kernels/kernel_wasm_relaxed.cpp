// WebAssembly relaxed SIMD: 4 rows a register. The relaxed dot is only defined alike on all machines when its second
// operand is in 0..127. Weights below 8 bits are; 8-bit weights are taken as two nibbles. The form with sums of two
// columns is one instruction on every x86 processor, and sums of up to eight fit. No relaxed float operation is used.
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
  static constexpr bool kSplitBytes = true;
  static constexpr int kSignedOffset = 128;

  using Weights = Bytes;
  static Weights widen(Bytes a) { return a; }
  static Sums begin_dot(I32p, Bytes w, Quad x) { return wasm_i16x8_relaxed_dot_i8x16_i7x16(x, w); }
  static Sums dot(Sums sums, Bytes w, Quad x) {
    return wasm_i16x8_add(sums, wasm_i16x8_relaxed_dot_i8x16_i7x16(x, w));
  }
  static I32p end_dot(I32p acc, Sums sums) { return wasm_i32x4_add(acc, wasm_i32x4_extadd_pairwise_i16x8(sums)); }  static Bytes flip_sign(Bytes a) { return wasm_v128_xor(a, wasm_i8x16_splat(-128)); }
};

#include "engine/kernels/matmul.inc"
#include "engine/kernels/dot_peak.inc"
#include "engine/kernels/ops.inc"

bool supported() { return true; }

}  // namespace

#define BITWIN_TABLE kernel_wasm_relaxed
#define BITWIN_TABLE_NAME "wasm-relaxed"
#include "engine/kernels/table.inc"

}  // namespace bitwin
