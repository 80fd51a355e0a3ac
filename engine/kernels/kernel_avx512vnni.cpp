// AVX-512 with VNNI: 16 rows a register. vpdpbusd multiplies unsigned weights by signed activations, so 8-bit weights
// get their sign bit flipped (+128) and the accumulator starts at -128 * sum(x).
#include <immintrin.h>

#include "engine/base/f32x16.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/layout.h"

namespace bitwin {
namespace {

#include "engine/kernels/common.inc"

struct Isa {
  static constexpr int kTokens = 8;
  static constexpr int kSignedOffset = 128;
  static constexpr bool kSignTrick = false;
  static constexpr int kPrefetchBytes = 4096;
  using Bytes = __m512i;
  using Quad = __m512i;

  static Bytes load_bytes(const uint8_t* p) { return _mm512_loadu_si512(p); }
  static Quad load_quad(const int8_t* p) {
    int32_t quad;
    __builtin_memcpy(&quad, p, 4);
    return _mm512_set1_epi32(quad);
  }
  static Bytes low(Bytes a) { return _mm512_and_si512(a, _mm512_set1_epi8(15)); }
  static Bytes high(Bytes a) { return _mm512_and_si512(_mm512_srli_epi16(a, 4), _mm512_set1_epi8(15)); }
  template <int kQuad>
  static Bytes bit5(Bytes a) {
    if constexpr (kQuad < 4) {
      return _mm512_and_si512(_mm512_slli_epi16(a, 4 - kQuad), _mm512_set1_epi8(0x10));
    } else {
      return _mm512_and_si512(_mm512_srli_epi16(a, kQuad - 4), _mm512_set1_epi8(0x10));
    }
  }
  template <int kQuad>
  static Bytes bits6(Bytes a) {
    if constexpr (kQuad < 2) {
      return _mm512_and_si512(_mm512_slli_epi16(a, 4 - 2 * kQuad), _mm512_set1_epi8(0x30));
    } else {
      return _mm512_and_si512(_mm512_srli_epi16(a, 2 * kQuad - 4), _mm512_set1_epi8(0x30));
    }
  }
  static Bytes combine(Bytes a, Bytes b) { return _mm512_or_si512(a, b); }
  using Sums = I32p;
  static Sums begin_dot(I32p acc, Bytes w, Quad x) { return _mm512_dpbusd_epi32(acc, w, x); }
  static Sums dot(Sums acc, Bytes w, Quad x) { return _mm512_dpbusd_epi32(acc, w, x); }
  static I32p end_dot(I32p, Sums sums) { return sums; }
  static Bytes prepare_signed(Bytes a) { return _mm512_xor_si512(a, _mm512_set1_epi8(-128)); }
  template <bool kExact>
  static I32p dot_signed(I32p acc, Bytes w, Quad x) {
    return _mm512_dpbusd_epi32(acc, w, x);
  }
};

#include "engine/kernels/matmul.inc"
#include "engine/kernels/ops.inc"

bool supported() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

}  // namespace

#define BITWIN_TABLE kernel_avx512vnni
#define BITWIN_TABLE_NAME "avx512vnni"
#include "engine/kernels/table.inc"

}  // namespace bitwin
