#include "tests/support/packing.h"

#include <cstring>

#include "engine/kernels/layout.h"

namespace bitwin::testing {
namespace {

// Up to 256 columns of one row. weight[i] = scale * q[i] - minimum in the terms of layout.h, all as stored.
struct UnpackedTile {
  uint8_t q[256];         // two's complement for 8-bit weights
  uint16_t scale[8];      // FP16 per group; K-style: [0] is the super-scale
  uint16_t minimum[8];    // FP16 per group, or [0] the super-minimum
  uint8_t sub_scale[16];  // K-style: per 32 columns, or per 16 signed when the width is 6 bits
  uint8_t sub_minimum[8];
};

uint16_t half_at(const uint8_t* p) { return static_cast<uint16_t>(p[0] | p[1] << 8); }

// Q4_1 and Q5_1 store weight = scale * q + m; the engine's minimum is -m, exact in FP16.
uint16_t negated_half_at(const uint8_t* p) { return static_cast<uint16_t>(half_at(p) ^ 0x8000u); }

// 16 bytes of nibbles: columns 0..15 low, 16..31 high.
void split_nibbles(const uint8_t* nibbles, uint8_t* q) {
  for (int i = 0; i < 16; ++i) {
    q[i] = nibbles[i] & 15;
    q[i + 16] = nibbles[i] >> 4;
  }
}

void add_fifth_bits(const uint8_t* bits, uint8_t* q) {
  uint32_t high = 0;
  std::memcpy(&high, bits, 4);
  for (int i = 0; i < 32; ++i) q[i] = static_cast<uint8_t>(q[i] | (high >> i & 1) << 4);
}

// The twelve bytes of eight 6-bit sub-scales and sub-minimums of Q4_K and Q5_K.
void unpack_sub_scales(const uint8_t* p, uint8_t* scale, uint8_t* minimum) {
  for (int j = 0; j < 4; ++j) {
    scale[j] = p[j] & 63;
    minimum[j] = p[j + 4] & 63;
    scale[j + 4] = static_cast<uint8_t>((p[j + 8] & 15) | p[j] >> 6 << 4);
    minimum[j + 4] = static_cast<uint8_t>(p[j + 8] >> 4 | p[j + 4] >> 6 << 4);
  }
}

void unpack_q4_k(const uint8_t* p, UnpackedTile* out) {
  out->scale[0] = half_at(p);
  out->minimum[0] = half_at(p + 2);
  unpack_sub_scales(p + 4, out->sub_scale, out->sub_minimum);
  const uint8_t* nibbles = p + 16;
  for (int chunk = 0; chunk < 4; ++chunk)
    for (int i = 0; i < 32; ++i) {
      out->q[chunk * 64 + i] = nibbles[chunk * 32 + i] & 15;
      out->q[chunk * 64 + 32 + i] = nibbles[chunk * 32 + i] >> 4;
    }
}

void unpack_q5_k(const uint8_t* p, UnpackedTile* out) {
  out->scale[0] = half_at(p);
  out->minimum[0] = half_at(p + 2);
  unpack_sub_scales(p + 4, out->sub_scale, out->sub_minimum);
  const uint8_t* high = p + 16;
  const uint8_t* nibbles = p + 48;
  for (int chunk = 0; chunk < 4; ++chunk)
    for (int i = 0; i < 32; ++i) {
      const int low_bit = high[i] >> (2 * chunk) & 1;
      const int high_bit = high[i] >> (2 * chunk + 1) & 1;
      out->q[chunk * 64 + i] = static_cast<uint8_t>((nibbles[chunk * 32 + i] & 15) | low_bit << 4);
      out->q[chunk * 64 + 32 + i] = static_cast<uint8_t>(nibbles[chunk * 32 + i] >> 4 | high_bit << 4);
    }
}

void unpack_q6_k(const uint8_t* p, UnpackedTile* out) {
  const uint8_t* low = p;
  const uint8_t* high = p + 128;
  std::memcpy(out->sub_scale, p + 192, 16);
  out->scale[0] = half_at(p + 208);
  for (int half = 0; half < 2; ++half, low += 64, high += 32)
    for (int i = 0; i < 32; ++i) {
      uint8_t* q = out->q + half * 128 + i;
      q[0] = static_cast<uint8_t>((low[i] & 15) | (high[i] & 3) << 4);
      q[32] = static_cast<uint8_t>((low[i + 32] & 15) | (high[i] >> 2 & 3) << 4);
      q[64] = static_cast<uint8_t>(low[i] >> 4 | (high[i] >> 4 & 3) << 4);
      q[96] = static_cast<uint8_t>(low[i + 32] >> 4 | high[i] >> 6 << 4);
    }
}

int64_t source_bytes(TensorType type, int64_t groups) {
  const TensorTypeInfo* info = tensor_type_info(type);
  return groups * 32 / info->block * info->bytes;
}

void unpack_tile(TensorType type, int64_t groups, const uint8_t* source, UnpackedTile* out) {
  switch (type) {
    case TensorType::q4_k:
      return unpack_q4_k(source, out);
    case TensorType::q5_k:
      return unpack_q5_k(source, out);
    case TensorType::q6_k:
      return unpack_q6_k(source, out);
    default:
      break;
  }
  const int64_t step = source_bytes(type, 1);
  for (int64_t g = 0; g < groups; ++g, source += step) {
    uint8_t* q = out->q + g * 32;
    out->scale[g] = half_at(source);
    switch (type) {
      case TensorType::q8_0:
        std::memcpy(q, source + 2, 32);
        break;
      case TensorType::q4_0:
        split_nibbles(source + 2, q);
        break;
      case TensorType::q4_1:
        out->minimum[g] = negated_half_at(source + 2);
        split_nibbles(source + 4, q);
        break;
      case TensorType::q5_0:
        split_nibbles(source + 6, q);
        add_fifth_bits(source + 2, q);
        break;
      case TensorType::q5_1:
        out->minimum[g] = negated_half_at(source + 2);
        split_nibbles(source + 8, q);
        add_fifth_bits(source + 4, q);
        break;
      default:
        break;
    }
  }
}

// The low nibbles of four quad bytes beside the next quad's, and what is left for the high plane.
void place_quads(const PackedFormat& f, const uint8_t* q, int64_t row, uint8_t* planes) {
  uint32_t quad[8];
  std::memcpy(quad, q, 32);
  uint8_t* at = planes + row * 4;
  if (f.bits == 8) {
    for (int i = 0; i < 8; ++i) std::memcpy(at + i * 64, &quad[i], 4);
    return;
  }
  constexpr uint32_t kNibbles = 0x0f0f0f0fu;
  for (int v = 0; v < 4; ++v) {
    const uint32_t pair = (quad[2 * v] & kNibbles) | (quad[2 * v + 1] & kNibbles) << 4;
    std::memcpy(at + v * 64, &pair, 4);
  }
  if (f.bits == 5) {
    uint32_t bits = 0;
    for (int i = 0; i < 8; ++i) bits |= (quad[i] >> 4 & 0x01010101u) << i;
    std::memcpy(at + 256, &bits, 4);
  } else if (f.bits == 6) {
    for (int p = 0; p < 2; ++p) {
      uint32_t bits = 0;
      for (int i = 0; i < 4; ++i) bits |= (quad[4 * p + i] >> 4 & 0x03030303u) << 2 * i;
      std::memcpy(at + 256 + p * 64, &bits, 4);
    }
  }
}

// Writes one row's part of a tile.
void place_tile(const PackedFormat& f, int64_t groups, const UnpackedTile& tile, int64_t row, uint8_t* out) {
  uint8_t* planes = out + header_bytes(f, groups);
  for (int64_t g = 0; g < groups; ++g) place_quads(f, tile.q + g * 32, row, planes + g * group_bytes(f));
  uint16_t* halves = reinterpret_cast<uint16_t*>(out);
  if (!f.super) {
    for (int64_t g = 0; g < groups; ++g) {
      halves[g * 16 + row] = tile.scale[g];
      if (f.minimum) halves[(groups + g) * 16 + row] = tile.minimum[g];
    }
    return;
  }
  halves[row] = tile.scale[0];
  uint8_t* sub = out + 64;
  if (f.bits == 6) {
    for (int i = 0; i < 16; ++i) sub[i * 16 + row] = tile.sub_scale[i];
    return;
  }
  halves[16 + row] = tile.minimum[0];
  for (int g = 0; g < 8; ++g) {
    sub[g * 16 + row] = tile.sub_scale[g];
    sub[128 + g * 16 + row] = tile.sub_minimum[g];
  }
}

}  // namespace

std::vector<uint8_t> pack_plainly(TensorType type, int64_t rows, int64_t cols, std::span<const uint8_t> source) {
  const PackedFormat f = packed_format(type);
  const TensorTypeInfo* info = tensor_type_info(type);
  const int64_t per_block = block_bytes(f, cols);
  const int64_t groups = cols / kGroupColumns;
  std::vector<uint8_t> packed;
  packed.resize(static_cast<size_t>((rows + kBlockRows - 1) / kBlockRows * per_block));
  for (int64_t row = 0; row < rows; ++row) {
    const uint8_t* in = source.data() + row * (cols / info->block * info->bytes);
    uint8_t* out = packed.data() + row / kBlockRows * per_block;
    const int64_t lane = row % kBlockRows;
    if (f.bits == 0) {
      for (int64_t k = 0; k < cols; ++k)
        std::memcpy(out + (k * kBlockRows + lane) * f.element, in + k * f.element, static_cast<size_t>(f.element));
      continue;
    }
    for (int64_t tile = 0; tile < groups; tile += kTileGroups) {
      const int64_t count = groups - tile < kTileGroups ? groups - tile : kTileGroups;
      UnpackedTile unpacked;
      unpack_tile(type, count, in, &unpacked);
      place_tile(f, count, unpacked, lane, out);
      in += source_bytes(type, count);
      out += tile_bytes(f, count);
    }
  }
  return packed;
}

}  // namespace bitwin::testing
