#include "engine/kernels/unpack.h"

#include <cstring>

namespace bitwin {
namespace {

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

}  // namespace

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

}  // namespace bitwin
