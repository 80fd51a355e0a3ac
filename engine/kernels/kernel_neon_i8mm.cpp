// NEON with the 8-bit matrix product: smmla multiplies 2 rows by 2 tokens over 8 columns. One token alone takes sdot.
#include <arm_neon.h>

#include "engine/base/cpu.h"
#include "engine/base/f32x16.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/layout.h"

namespace bitwin {
namespace {

#include "engine/kernels/common.inc"
#include "engine/kernels/neon_bytes.inc"

struct Isa : NeonBytes {
  static constexpr int kTokens = 8;  // of floats: quantised batches take smmla
  static constexpr int kBatch = 2;
};

#include "engine/kernels/matmul.inc"
#include "engine/kernels/matmul_batch.inc"

// Tokens whose sums one strip keeps in memory.
constexpr int64_t kStripTokens = 64;

// A group of 32 columns of 4 rows: w[2i] holds columns 8i to 8i + 7 of rows 0 and 1, w[2i + 1] of rows 2 and 3, with
// the type's offset subtracted.
template <TensorType kType>
struct PairedGroup : Group<kType> {
  using Base = Group<kType>;

  BITWIN_INLINE void pair_rows() {
    each_constant<4>([&](auto i) BITWIN_LAMBDA_INLINE {
      const int8x16_t offset = vdupq_n_s8(static_cast<int8_t>(Base::f.offset));
      const int32x4_t a = vreinterpretq_s32_s8(vsubq_s8(this->w[2 * i.value], offset));
      const int32x4_t b = vreinterpretq_s32_s8(vsubq_s8(this->w[2 * i.value + 1], offset));
      this->w[2 * i.value] = vreinterpretq_s8_s32(vzip1q_s32(a, b));
      this->w[2 * i.value + 1] = vreinterpretq_s8_s32(vzip2q_s32(a, b));
    });
  }

  // Adds the products with 16 columns of two tokens, the first at x: rows 0 and 1 of each token to `low`.
  template <int kHalf>
  BITWIN_INLINE void half(const int8_t* x, int32x4_t& low, int32x4_t& high) const {
    const int64x2_t first = vreinterpretq_s64_s8(vld1q_s8(x + kHalf * 16));
    const int64x2_t second = vreinterpretq_s64_s8(vld1q_s8(x + kGroupColumns + kHalf * 16));
    const int8x16_t even = vreinterpretq_s8_s64(vzip1q_s64(first, second));
    const int8x16_t odd = vreinterpretq_s8_s64(vzip2q_s64(first, second));
    low = vmmlaq_s32(low, even, this->w[kHalf * 4]);
    high = vmmlaq_s32(high, even, this->w[kHalf * 4 + 1]);
    low = vmmlaq_s32(low, odd, this->w[kHalf * 4 + 2]);
    high = vmmlaq_s32(high, odd, this->w[kHalf * 4 + 3]);
  }

  // Adds the group's products with tokens t and t + 1 to their sums.
  BITWIN_INLINE void add_two(const Activations& x, int64_t t, F32p* acc, F32p* acc_min) const {
    each_constant<Base::kHalves>([&](auto at) BITWIN_LAMBDA_INLINE {
      constexpr int h = decltype(at)::value;
      int32x4_t low = vdupq_n_s32(0);
      int32x4_t high = vdupq_n_s32(0);
      this->template half<h>(x.q + t * kGroupColumns, low, high);
      if constexpr (Base::kHalves == 1) this->template half<1>(x.q + t * kGroupColumns, low, high);
      const int64x2_t l = vreinterpretq_s64_s32(low);
      const int64x2_t r = vreinterpretq_s64_s32(high);
      const I32p dot[2] = {vreinterpretq_s32_s64(vzip1q_s64(l, r)), vreinterpretq_s32_s64(vzip2q_s64(l, r))};
      for (int i = 0; i < 2; ++i) {
        const F32p factor = f32_mul(this->scale[h], f32_splat(x.scale[t + i]));
        acc[i] = f32_add(acc[i], f32_mul(f32_from_i32(dot[i]), factor));
      }
    });
    if constexpr (Base::f.minimum) {
      for (int i = 0; i < 2; ++i)
        acc_min[i] = f32_add(acc_min[i], f32_mul(this->minimum, f32_splat(x.offset[t + i])));
    }
  }
};

// Four rows from row `first` of a block, for an even number of tokens from `token`.
template <TensorType kType>
BITWIN_NOINLINE void batch_strip(const MatmulArgs& args, int64_t block, int first, int64_t token, int64_t tokens) {
  constexpr PackedFormat f = packed_format(kType);
  Activations x(args.x, token);
  F32p acc[kStripTokens];
  F32p acc_min[kStripTokens];
  for (int64_t t = 0; t < tokens; ++t) {
    acc[t] = f32_splat(0.0f);
    acc_min[t] = f32_splat(0.0f);
  }
  const uint8_t* p = args.weights.data + block * args.weights.block_bytes;
  const int64_t groups = args.weights.cols / kGroupColumns;
  for (int64_t tile = 0; tile < groups; tile += kTileGroups) {
    const int64_t count = groups - tile < kTileGroups ? groups - tile : kTileGroups;
    const uint8_t* header = p;
    const uint8_t* planes = p + header_bytes(f, count);
    p += tile_bytes(f, count);
    TileScales<f> scales;
    scales.load(header, first);
    for (int64_t g = 0; g < count; ++g) {
      PairedGroup<kType> group;
      group.load(header, planes, g, count, first, scales);
      group.pair_rows();
      for (int64_t t = 0; t < tokens; t += 2) group.add_two(x, t, acc + t, acc_min + t);
      x.next_group();
    }
  }
  for (int64_t t = 0; t < tokens; ++t) {
    const F32p value = f.minimum ? f32_sub(acc[t], acc_min[t]) : acc[t];
    store_rows(args, block * kBlockRows + first, token + t, value);
  }
}

template <TensorType kType>
void batch_blocks(const MatmulArgs& args, int64_t block_begin, int64_t block_end) {
  const int64_t even = args.tokens / 2 * 2;
  for (int64_t block = block_begin; block < block_end; ++block)
    for (int64_t token = 0; token < even; token += kStripTokens) {
      const int64_t tokens = even - token < kStripTokens ? even - token : kStripTokens;
      for (int first = 0; first < kBlockRows; first += kPartWidth)
        batch_strip<kType>(args, block, first, token, tokens);
    }
  if (even < args.tokens) matmul(tokens_from(args, even), block_begin, block_end);
}

int64_t dot_peak(int64_t rounds, const int8_t* seed, int32_t* sum) {
  // Sixteen chains, which is more than the latency of a product times its rate.
  constexpr int kSide = 4;
  int8x16_t rows[kSide];
  int32x4_t acc[kSide][kSide];
  for (int c = 0; c < kSide; ++c) {
    rows[c] = vld1q_s8(seed + c * 16);
    for (int d = 0; d < kSide; ++d) acc[c][d] = vdupq_n_s32(0);
  }
  for (int64_t round = 0; round < rounds; ++round) {
    BITWIN_UNROLL
    for (int d = 0; d < kSide; ++d) {
      const int8x16_t tokens = vld1q_s8(seed + (round + d) % 16 * 3);
      BITWIN_UNROLL
      for (int c = 0; c < kSide; ++c) acc[c][d] = vmmlaq_s32(acc[c][d], tokens, rows[c]);
    }
  }
  int32x4_t total = vdupq_n_s32(0);
  for (int c = 0; c < kSide; ++c)
    for (int d = 0; d < kSide; ++d) total = vaddq_s32(total, acc[c][d]);
  *sum = vgetq_lane_s32(total, 0);
  return rounds * kSide * kSide * 32;
}

#include "engine/kernels/ops.inc"

bool supported() { return system::cpu_has_dotprod() && system::cpu_has_i8mm(); }

}  // namespace

#define BITWIN_MATMUL matmul_or_batch
#define BITWIN_TABLE kernel_neon_i8mm
#define BITWIN_TABLE_NAME "neon-i8mm"
#include "engine/kernels/table.inc"

}  // namespace bitwin
