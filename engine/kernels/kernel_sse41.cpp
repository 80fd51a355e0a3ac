// SSE4.1 with SSSE3, for old machines and virtual ones: 4 rows a register. pmaddubsw multiplies unsigned by signed bytes
// into pairs of int16, as in AVX2.
#include <immintrin.h>

#include "engine/base/f32x16.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/layout.h"

namespace bitwin {
namespace {

#include "engine/kernels/common.inc"

struct Isa {
  static constexpr int kTokens = 32;
  static constexpr bool kSplitBytes = true;
  static constexpr int kSignedOffset = 128;
  using Bytes = __m128i;
  using Quad = __m128i;
  using Sums = __m128i;  // of two columns, int16

  static Bytes load_bytes(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
  static Quad load_quad(const int8_t* p) {
    int32_t quad;
    __builtin_memcpy(&quad, p, 4);
    return _mm_set1_epi32(quad);
  }
  static Bytes low(Bytes a) { return _mm_and_si128(a, _mm_set1_epi8(15)); }
  static Bytes high(Bytes a) { return _mm_and_si128(_mm_srli_epi16(a, 4), _mm_set1_epi8(15)); }
  template <int kQuad>
  static Bytes bit5(Bytes a) {
    if constexpr (kQuad < 4) {
      return _mm_and_si128(_mm_slli_epi16(a, 4 - kQuad), _mm_set1_epi8(0x10));
    } else {
      return _mm_and_si128(_mm_srli_epi16(a, kQuad - 4), _mm_set1_epi8(0x10));
    }
  }
  template <int kQuad>
  static Bytes bits6(Bytes a) {
    if constexpr (kQuad < 2) {
      return _mm_and_si128(_mm_slli_epi16(a, 4 - 2 * kQuad), _mm_set1_epi8(0x30));
    } else {
      return _mm_and_si128(_mm_srli_epi16(a, 2 * kQuad - 4), _mm_set1_epi8(0x30));
    }
  }
  static Bytes combine(Bytes a, Bytes b) { return _mm_or_si128(a, b); }
  using Weights = Bytes;
  static Weights widen(Bytes a) { return a; }
  static Sums begin_dot(I32p, Bytes w, Quad x) { return _mm_maddubs_epi16(w, x); }
  static Sums dot(Sums sums, Bytes w, Quad x) { return _mm_add_epi16(sums, _mm_maddubs_epi16(w, x)); }
  static I32p end_dot(I32p acc, Sums sums) { return _mm_add_epi32(acc, _mm_madd_epi16(sums, _mm_set1_epi16(1))); }
  static Bytes flip_sign(Bytes a) { return _mm_xor_si128(a, _mm_set1_epi8(-128)); }
};

#include "engine/kernels/matmul.inc"
#include "engine/kernels/dot_peak.inc"
#include "engine/kernels/ops.inc"

bool supported() { return __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("ssse3"); }

}  // namespace

#define BITWIN_TABLE kernel_sse41
#define BITWIN_TABLE_NAME "sse41"
#include "engine/kernels/table.inc"

}  // namespace bitwin
