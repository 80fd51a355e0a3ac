// The integers and scales of one block of a GGUF tensor row, as ggml's block formats define them.
#pragma once

#include <cstdint>

#include "engine/base/tensor_type.h"

namespace bitwin {

// Up to 256 columns of one row. weight[i] = scale * q[i] - minimum in the terms of layout.h, all as stored.
struct UnpackedTile {
  uint8_t q[256];         // two's complement for 8-bit weights
  uint16_t scale[8];      // FP16 per group; K-style: [0] is the super-scale
  uint16_t minimum[8];    // FP16 per group, or [0] the super-minimum
  uint8_t sub_scale[16];  // K-style: per 32 columns, or per 16 signed when the width is 6 bits
  uint8_t sub_minimum[8];
};

// Unpacks `groups` groups of 32 columns (8 for K-style types) of quantised type `type` from `source`.
void unpack_tile(TensorType type, int64_t groups, const uint8_t* source, UnpackedTile* out);

// Bytes of `groups` groups in the file.
int64_t source_bytes(TensorType type, int64_t groups);

}  // namespace bitwin
