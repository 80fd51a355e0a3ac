// The scalar kernel: plain C++, what every other kernel is tested against.
#define BITWIN_SCALAR
#include "engine/base/f32x16.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/layout.h"

namespace bitwin {
namespace {

#define BITWIN_ROLLED
#include "engine/kernels/common.inc"

struct Isa {
  static constexpr int kTokens = 1;
  static constexpr int kSignedOffset = 0;
  static constexpr bool kSplitBytes = false;
  struct Bytes {
    uint8_t v[4 * kPartWidth];
  };
  struct Quad {
    int8_t v[4];
  };

  static Bytes load_bytes(const uint8_t* p) {
    Bytes r;
    for (int i = 0; i < 4 * kPartWidth; ++i) r.v[i] = p[i];
    return r;
  }
  static Quad load_quad(const int8_t* p) { return {{p[0], p[1], p[2], p[3]}}; }
  static Bytes low(const Bytes& a) {
    Bytes r;
    for (int i = 0; i < 4 * kPartWidth; ++i) r.v[i] = a.v[i] & 15;
    return r;
  }
  static Bytes high(const Bytes& a) {
    Bytes r;
    for (int i = 0; i < 4 * kPartWidth; ++i) r.v[i] = a.v[i] >> 4;
    return r;
  }
  template <int kQuad>
  static Bytes bit5(const Bytes& a) {
    Bytes r;
    for (int i = 0; i < 4 * kPartWidth; ++i) r.v[i] = static_cast<uint8_t>((a.v[i] >> kQuad & 1) << 4);
    return r;
  }
  template <int kQuad>
  static Bytes bits6(const Bytes& a) {
    Bytes r;
    for (int i = 0; i < 4 * kPartWidth; ++i) r.v[i] = static_cast<uint8_t>((a.v[i] >> 2 * kQuad & 3) << 4);
    return r;
  }
  static Bytes combine(const Bytes& a, const Bytes& b) {
    Bytes r;
    for (int i = 0; i < 4 * kPartWidth; ++i) r.v[i] = a.v[i] | b.v[i];
    return r;
  }
  using Sums = I32p;
  using Weights = Bytes;
  static Weights widen(const Bytes& a) { return a; }
  static Sums begin_dot(const I32p& acc, const Bytes& w, const Quad& x) { return dot(acc, w, x); }
  static I32p end_dot(const I32p&, const Sums& sums) { return sums; }
  static Sums dot(const Sums& acc, const Weights& w, const Quad& x) {
    I32p r;
    for (int i = 0; i < kPartWidth; ++i) {
      int32_t sum = acc.v[i];
      for (int j = 0; j < 4; ++j) sum += static_cast<int8_t>(w.v[4 * i + j]) * x.v[j];
      r.v[i] = sum;
    }
    return r;
  }
  static Bytes prepare_signed(const Bytes& a) { return a; }
};

#include "engine/kernels/matmul.inc"
#include "engine/kernels/dot_peak.inc"
#include "engine/kernels/ops.inc"

bool supported() { return true; }

}  // namespace

#if defined(__wasm__)
#define BITWIN_TABLE kernel_wasm_scalar
#define BITWIN_TABLE_NAME "wasm-scalar"
#else
#define BITWIN_TABLE kernel_scalar
#define BITWIN_TABLE_NAME "scalar"
#endif
#include "engine/kernels/table.inc"

}  // namespace bitwin
