// The packed layout of weight matrices (docs/formats.md), shared by packing and kernels.
//
// Rows come in blocks of 16, columns in tiles of 256 (the last tile of a row may have fewer groups of 32). A tile is a
// header of scales, padded to 64 bytes, and then its groups. In a group a quad is 4 columns of all 16 rows: 64 bytes,
// row r at 4r. 8-bit weights have a group's 8 quads one after another. Narrower ones have a nibble plane of 4 x 64
// bytes (quads 2v and 2v + 1 in the low and high nibbles of vector v); 5-bit ones then 64 bytes whose bit q is bit 4
// of quad q; 6-bit ones then 2 x 64 bytes: plane p holds bits 4 and 5 of quads 4p .. 4p + 3, two bits each.
// Float types have no tiles: column after column of 16 values.
#pragma once

#include <cstdint>

#include "engine/base/tensor_type.h"

namespace bitwin {

// Raised whenever packed bytes change, so that packed copies of earlier versions are left alone.
inline constexpr uint32_t kLayoutVersion = 1;

inline constexpr int64_t kBlockRows = 16;
inline constexpr int64_t kTileColumns = 256;
inline constexpr int64_t kGroupColumns = 32;
inline constexpr int64_t kTileGroups = kTileColumns / kGroupColumns;

struct PackedFormat {
  int32_t bits;     // of a stored integer; 0 for float types
  int32_t offset;   // what is subtracted from the stored integer
  bool super;       // per tile and row an FP16 super-scale, times integer sub-scales; else an FP16 scale per group
  bool minimum;     // stored minimums: weight = scale * integer - minimum
  int32_t element;  // bytes of a float type's element
};

constexpr PackedFormat packed_format(TensorType type) {
  switch (type) {
    case TensorType::q8_0:
      return {8, 0, false, false, 0};
    case TensorType::q4_0:
      return {4, 8, false, false, 0};
    case TensorType::q4_1:
      return {4, 0, false, true, 0};
    case TensorType::q5_0:
      return {5, 16, false, false, 0};
    case TensorType::q5_1:
      return {5, 0, false, true, 0};
    case TensorType::q4_k:
      return {4, 0, true, true, 0};
    case TensorType::q5_k:
      return {5, 0, true, true, 0};
    case TensorType::q6_k:
      return {6, 32, true, false, 0};
    case TensorType::f32:
      return {0, 0, false, false, 4};
    case TensorType::f16:
    case TensorType::bf16:
      return {0, 0, false, false, 2};
  }
  return {0, 0, false, false, 0};
}

// Bytes of one group's integers in a block.
constexpr int64_t group_bytes(PackedFormat f) { return f.bits == 8 ? 512 : 256 + (f.bits - 4) * 64; }

// Bytes of a tile's header. Group scales: [groups][16] FP16, then the minimums likewise. K-style: super-scales [16]
// FP16, super-minimums [16] FP16 (or unused), then sub-scales [8][16] and sub-minimums [8][16] bytes, or [16][16]
// signed bytes per 16 columns when the width is 6 bits.
constexpr int64_t header_bytes(PackedFormat f, int64_t groups) {
  if (f.super) return 64 + 256;
  const int64_t bytes = groups * 32 * (f.minimum ? 2 : 1);
  return (bytes + 63) / 64 * 64;
}

constexpr int64_t tile_bytes(PackedFormat f, int64_t groups) {
  return header_bytes(f, groups) + groups * group_bytes(f);
}

// Bytes of a block of 16 rows.
constexpr int64_t block_bytes(PackedFormat f, int64_t columns) {
  if (f.bits == 0) return (columns * kBlockRows * f.element + 63) / 64 * 64;
  const int64_t groups = columns / kGroupColumns;
  const int64_t rest = groups % kTileGroups;
  return groups / kTileGroups * tile_bytes(f, kTileGroups) + (rest > 0 ? tile_bytes(f, rest) : 0);
}

}  // namespace bitwin
