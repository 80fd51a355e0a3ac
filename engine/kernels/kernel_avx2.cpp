// AVX2 with F16C: 8 rows a register. vpmaddubsw multiplies unsigned by signed bytes into pairs of int16: weights up to
// 63 by activations up to 127 cannot saturate. 8-bit weights are taken as two nibbles.
#include <immintrin.h>

#include "engine/base/f32x16.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/layout.h"

namespace bitwin {
namespace {

#include "engine/kernels/common.inc"
#include "engine/kernels/avx2_bytes.inc"

struct Isa : Avx2Bytes {
  static constexpr int kTokens = 32;
  static constexpr bool kSplitBytes = true;
  using Sums = __m256i;  // of two columns, int16
  using Weights = Bytes;

  static Weights widen(Bytes a) { return a; }
  static Sums begin_dot(I32p, Bytes w, Quad x) { return _mm256_maddubs_epi16(w, x); }
  static Sums dot(Sums sums, Bytes w, Quad x) { return _mm256_add_epi16(sums, _mm256_maddubs_epi16(w, x)); }
  static I32p end_dot(I32p acc, Sums sums) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(sums, _mm256_set1_epi16(1)));
  }
};

#include "engine/kernels/matmul.inc"
#include "engine/kernels/dot_peak.inc"
#include "engine/kernels/ops.inc"

bool supported() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"); }

}  // namespace

#define BITWIN_TABLE kernel_avx2
#define BITWIN_TABLE_NAME "avx2"
#include "engine/kernels/table.inc"

}  // namespace bitwin
