// AVX-VNNI, of processors without AVX-512: 8 rows a register. vpdpbusd multiplies unsigned weights by signed activations,
// so 8-bit weights get their sign bit flipped (+128) and the accumulator starts at -128 * sum(x).
#include <immintrin.h>

#include "engine/base/cpu.h"
#include "engine/base/f32x16.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/layout.h"

namespace bitwin {
namespace {

#include "engine/kernels/common.inc"
#include "engine/kernels/avx2_bytes.inc"

#if !defined(BITWIN_TABLE)  // else a test has defined these, with the AVX-512 form of the instruction
#define BITWIN_DPBUSD _mm256_dpbusd_avx_epi32
#define BITWIN_TABLE kernel_avxvnni
#define BITWIN_TABLE_NAME "avxvnni"
bool supported() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") && system::cpu_has_avx_vnni();
}
#endif

struct Isa : Avx2Bytes {
  static constexpr int kTokens = 32;
  static constexpr bool kSplitBytes = false;
  using Sums = I32p;
  using Weights = Bytes;

  static Weights widen(Bytes a) { return a; }
  static Sums begin_dot(I32p acc, Bytes w, Quad x) { return BITWIN_DPBUSD(acc, w, x); }
  static Sums dot(Sums acc, Bytes w, Quad x) { return BITWIN_DPBUSD(acc, w, x); }
  static I32p end_dot(I32p, Sums sums) { return sums; }
  static Bytes prepare_signed(Bytes a) { return flip_sign(a); }
};

#include "engine/kernels/matmul.inc"
#include "engine/kernels/dot_peak.inc"
#include "engine/kernels/ops.inc"

}  // namespace

#include "engine/kernels/table.inc"

}  // namespace bitwin
