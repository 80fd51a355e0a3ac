// SSE4.1 with SSSE3, for old machines and virtual ones: 4 rows a register. pmaddubsw multiplies unsigned by signed bytes
// into pairs of int16, and signed weights take the sign of the activations, as in AVX2.
#include <immintrin.h>

#include "engine/base/f32x16.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/layout.h"

namespace bitwin {
namespace {

#include "engine/kernels/common.inc"

struct Isa {
  static constexpr int kTokens = 4;
  static constexpr int kSignedOffset = 0;
  static constexpr bool kSignTrick = true;
  static constexpr int kPrefetchBytes = 4096;
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
  static Sums begin_dot(I32p, Bytes w, Quad x) { return _mm_maddubs_epi16(w, x); }
  static Sums dot(Sums sums, Bytes w, Quad x) { return _mm_add_epi16(sums, _mm_maddubs_epi16(w, x)); }
  static I32p end_dot(I32p acc, Sums sums) { return _mm_add_epi32(acc, _mm_madd_epi16(sums, _mm_set1_epi16(1))); }
  static I32p dot_unsigned(I32p acc, Bytes w, Quad x) { return end_dot(acc, begin_dot(acc, w, x)); }
  static Bytes prepare_signed(Bytes a) { return a; }
  template <bool kExact>
  static I32p dot_signed(I32p acc, Bytes w, Quad x) {
    if constexpr (kExact) {
      // Rows 0-1 lie in the low half, 2-3 in the high one: sign-extend each by interleaving, multiply in int16 and add
      // the pairs of pairs.
      const __m128i w_sign = _mm_cmpgt_epi8(_mm_setzero_si128(), w);
      const __m128i x_sign = _mm_cmpgt_epi8(_mm_setzero_si128(), x);
      const __m128i low = _mm_madd_epi16(_mm_unpacklo_epi8(w, w_sign), _mm_unpacklo_epi8(x, x_sign));
      const __m128i high = _mm_madd_epi16(_mm_unpackhi_epi8(w, w_sign), _mm_unpackhi_epi8(x, x_sign));
      return _mm_add_epi32(acc, _mm_hadd_epi32(low, high));
    } else {
      const __m128i pairs = _mm_maddubs_epi16(_mm_abs_epi8(x), _mm_sign_epi8(w, x));
      return _mm_add_epi32(acc, _mm_madd_epi16(pairs, _mm_set1_epi16(1)));
    }
  }
};

#include "engine/kernels/matmul.inc"
#include "engine/kernels/ops.inc"

bool supported() { return __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("ssse3"); }

}  // namespace

#define BITWIN_TABLE kernel_sse41
#define BITWIN_TABLE_NAME "sse41"
#include "engine/kernels/table.inc"

}  // namespace bitwin
