// AVX2 with F16C: 8 rows a register. vpmaddubsw multiplies unsigned by signed bytes into pairs of int16: weights up to
// 63 by activations up to 127 cannot saturate. Signed weights lend their sign: |x| is the unsigned operand and x's sign
// moves onto the weights (2 * 127 * 127 fits); -128 cannot be negated and takes the exact int16 products.
#include <immintrin.h>

#include "engine/base/f32x16.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/layout.h"

namespace bitwin {
namespace {

#include "engine/kernels/common.inc"

struct Isa {
  static constexpr int kTokens = 32;
  static constexpr int kSignedOffset = 0;
  static constexpr bool kSignTrick = true;
  static constexpr int kPrefetchBytes = 4096;
  using Bytes = __m256i;
  using Quad = __m256i;
  using Sums = __m256i;  // of two columns, int16

  static Bytes load_bytes(const uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static Quad load_quad(const int8_t* p) {
    int32_t quad;
    __builtin_memcpy(&quad, p, 4);
    return _mm256_set1_epi32(quad);
  }
  static Bytes low(Bytes a) { return _mm256_and_si256(a, _mm256_set1_epi8(15)); }
  static Bytes high(Bytes a) { return _mm256_and_si256(_mm256_srli_epi16(a, 4), _mm256_set1_epi8(15)); }
  template <int kQuad>
  static Bytes bit5(Bytes a) {
    if constexpr (kQuad < 4) {
      return _mm256_and_si256(_mm256_slli_epi16(a, 4 - kQuad), _mm256_set1_epi8(0x10));
    } else {
      return _mm256_and_si256(_mm256_srli_epi16(a, kQuad - 4), _mm256_set1_epi8(0x10));
    }
  }
  template <int kQuad>
  static Bytes bits6(Bytes a) {
    if constexpr (kQuad < 2) {
      return _mm256_and_si256(_mm256_slli_epi16(a, 4 - 2 * kQuad), _mm256_set1_epi8(0x30));
    } else {
      return _mm256_and_si256(_mm256_srli_epi16(a, 2 * kQuad - 4), _mm256_set1_epi8(0x30));
    }
  }
  static Bytes combine(Bytes a, Bytes b) { return _mm256_or_si256(a, b); }
  static Sums begin_dot(I32p, Bytes w, Quad x) { return _mm256_maddubs_epi16(w, x); }
  static Sums dot(Sums sums, Bytes w, Quad x) { return _mm256_add_epi16(sums, _mm256_maddubs_epi16(w, x)); }
  static I32p end_dot(I32p acc, Sums sums) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(sums, _mm256_set1_epi16(1)));
  }
  static Bytes prepare_signed(Bytes a) { return a; }
  template <bool kExact>
  static I32p dot_signed(I32p acc, Bytes w, Quad x) {
    if constexpr (kExact) {
      // Rows 0-1 and 4-5 of the register come from the low halves, 2-3 and 6-7 from the high ones: sign-extend each
      // 64-bit half by interleaving, multiply in int16 and add the pairs of pairs.
      const __m256i w_sign = _mm256_cmpgt_epi8(_mm256_setzero_si256(), w);
      const __m256i x_sign = _mm256_cmpgt_epi8(_mm256_setzero_si256(), x);
      const __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi8(w, w_sign), _mm256_unpacklo_epi8(x, x_sign));
      const __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi8(w, w_sign), _mm256_unpackhi_epi8(x, x_sign));
      return _mm256_add_epi32(acc, _mm256_hadd_epi32(low, high));
    } else {
      const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8(w, x));
      return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
  }
};

#include "engine/kernels/matmul.inc"
#include "engine/kernels/ops.inc"

bool supported() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"); }

}  // namespace

#define BITWIN_TABLE kernel_avx2
#define BITWIN_TABLE_NAME "avx2"
#include "engine/kernels/table.inc"

}  // namespace bitwin
