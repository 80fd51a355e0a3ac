#include "engine/kernels/packed.h"

#include <cstring>

#include "engine/base/f32x16_scalar.h"
#include "engine/kernels/layout.h"
#include "engine/kernels/unpack.h"

namespace bitwin {
namespace {

constexpr int64_t kMaxDimension = int64_t{1} << 31;

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

bool half_is_finite(uint16_t h) { return (h & 0x7c00u) != 0x7c00u; }

// Writes one row's part of a tile; false when a scale is not finite.
bool place_tile(const PackedFormat& f, int64_t groups, const UnpackedTile& tile, int64_t row, uint8_t* out) {
  uint8_t* planes = out + header_bytes(f, groups);
  for (int64_t g = 0; g < groups; ++g) place_quads(f, tile.q + g * 32, row, planes + g * group_bytes(f));
  uint16_t* halves = reinterpret_cast<uint16_t*>(out);
  bool good = true;
  if (!f.super) {
    for (int64_t g = 0; g < groups; ++g) {
      halves[g * 16 + row] = tile.scale[g];
      good = good && half_is_finite(tile.scale[g]);
      if (f.minimum) {
        halves[(groups + g) * 16 + row] = tile.minimum[g];
        good = good && half_is_finite(tile.minimum[g]);
      }
    }
    return good;
  }
  halves[row] = tile.scale[0];
  good = half_is_finite(tile.scale[0]);
  uint8_t* sub = out + 64;
  if (f.bits == 6) {
    for (int i = 0; i < 16; ++i) sub[i * 16 + row] = tile.sub_scale[i];
    return good;
  }
  halves[16 + row] = tile.minimum[0];
  for (int g = 0; g < 8; ++g) {
    sub[g * 16 + row] = tile.sub_scale[g];
    sub[128 + g * 16 + row] = tile.sub_minimum[g];
  }
  return good && half_is_finite(tile.minimum[0]);
}

bool has_minus_128(const uint8_t* q, int64_t n) {
  uint8_t found = 0;
  for (int64_t i = 0; i < n; ++i) found |= q[i] == 0x80;
  return found != 0;
}

}  // namespace

uint64_t packed_bytes(TensorType type, int64_t rows, int64_t cols) {
  const uint64_t blocks = static_cast<uint64_t>((rows + kBlockRows - 1) / kBlockRows);
  return blocks * static_cast<uint64_t>(block_bytes(packed_format(type), cols));
}

Result<PackedMatrix> PackedMatrix::allocate(TensorType type, int64_t rows, int64_t cols, const char* name) {
  const TensorTypeInfo* info = tensor_type_info(type);
  if (info == nullptr || rows <= 0 || cols <= 0 || rows > kMaxDimension || cols > kMaxDimension ||
      cols % info->block != 0)
    return error(Code::format, "tensor %s: %lld rows of %lld columns cannot be packed as %s", name,
                 static_cast<long long>(rows), static_cast<long long>(cols),
                 info == nullptr ? "an unknown type" : info->name);
  const uint64_t bytes = packed_bytes(type, rows, cols);
  if (bytes > SIZE_MAX)
    return error(Code::out_of_memory, "tensor %s needs %llu bytes, more than can be addressed", name,
                 static_cast<unsigned long long>(bytes));
  PackedMatrix matrix;
  BITWIN_ASSIGN_OR_RETURN(matrix.data_, Buffer::allocate(static_cast<size_t>(bytes), name));
  matrix.view_ = {type, matrix.data_.data(), rows, cols, block_bytes(packed_format(type), cols), false};
  return matrix;
}

Status PackedMatrix::pack_rows(int64_t first_row, int64_t rows, std::span<const uint8_t> bytes, const char* name) {
  const PackedFormat f = packed_format(view_.type);
  const TensorTypeInfo* info = tensor_type_info(view_.type);
  const int64_t row_bytes = view_.cols / info->block * info->bytes;
  if (first_row < 0 || rows < 0 || first_row % kBlockRows != 0 || first_row + rows > view_.rows ||
      bytes.size() != static_cast<size_t>(rows * row_bytes))
    return error(Code::internal, "tensor %s: rows %lld to %lld do not fit %lld rows of %lld bytes", name,
                 static_cast<long long>(first_row), static_cast<long long>(first_row + rows),
                 static_cast<long long>(view_.rows), static_cast<long long>(row_bytes));
  const int64_t groups = view_.cols / kGroupColumns;
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t* source = bytes.data() + r * row_bytes;
    const int64_t row = first_row + r;
    uint8_t* out = data_.data() + row / kBlockRows * view_.block_bytes;
    const int64_t lane = row % kBlockRows;
    if (f.bits == 0) {
      for (int64_t k = 0; k < view_.cols; ++k)
        std::memcpy(out + (k * kBlockRows + lane) * f.element, source + k * f.element, static_cast<size_t>(f.element));
      continue;
    }
    for (int64_t tile = 0; tile < groups; tile += kTileGroups) {
      const int64_t count = groups - tile < kTileGroups ? groups - tile : kTileGroups;
      UnpackedTile unpacked;
      unpack_tile(view_.type, count, source, &unpacked);
      if (!place_tile(f, count, unpacked, lane, out))
        return error(Code::format, "tensor %s: a scale in row %lld is infinite or not a number: the file is damaged",
                     name, static_cast<long long>(row));
      if (view_.type == TensorType::q8_0 && has_minus_128(unpacked.q, count * 32)) view_.has_minus_128 = true;
      source += source_bytes(view_.type, count);
      out += tile_bytes(f, count);
    }
  }
  return Status();
}

void PackedMatrix::dequantize_row(int64_t row, float* out) const {
  const PackedFormat f = packed_format(view_.type);
  const uint8_t* p = view_.data + row / kBlockRows * view_.block_bytes;
  const int64_t lane = row % kBlockRows;
  if (f.bits == 0) {
    for (int64_t k = 0; k < view_.cols; ++k) {
      const uint8_t* at = p + (k * kBlockRows + lane) * f.element;
      uint32_t bits = 0;
      std::memcpy(&bits, at, static_cast<size_t>(f.element));
      if (view_.type == TensorType::f16) {
        out[k] = half_to_float(static_cast<uint16_t>(bits));
      } else {
        out[k] = bits_float(view_.type == TensorType::bf16 ? bits << 16 : bits);
      }
    }
    return;
  }
  const int64_t groups = view_.cols / kGroupColumns;
  for (int64_t tile = 0; tile < groups; tile += kTileGroups) {
    const int64_t count = groups - tile < kTileGroups ? groups - tile : kTileGroups;
    const uint16_t* halves = reinterpret_cast<const uint16_t*>(p);
    const uint8_t* sub = p + 64;
    for (int64_t g = 0; g < count; ++g) {
      const uint8_t* planes = p + header_bytes(f, count) + g * group_bytes(f) + lane * 4;
      for (int k = 0; k < 32; ++k) {
        const int quad = k / 4;
        float scale;
        float minimum = 0.0f;
        if (!f.super) {
          scale = half_to_float(halves[g * 16 + lane]);
          if (f.minimum) minimum = half_to_float(halves[(count + g) * 16 + lane]);
        } else if (f.bits == 6) {
          scale =
              half_to_float(halves[lane]) * static_cast<float>(static_cast<int8_t>(sub[(g * 2 + k / 16) * 16 + lane]));
        } else {
          scale = half_to_float(halves[lane]) * static_cast<float>(sub[g * 16 + lane]);
          minimum = half_to_float(halves[16 + lane]) * static_cast<float>(sub[128 + g * 16 + lane]);
        }
        int value;
        if (f.bits == 8) {
          value = static_cast<int8_t>(planes[quad * 64 + k % 4]);
        } else {
          value = planes[quad / 2 * 64 + k % 4] >> (quad % 2 * 4) & 15;
          if (f.bits == 5) value |= (planes[256 + k % 4] >> quad & 1) << 4;
          if (f.bits == 6) value |= (planes[256 + quad / 4 * 64 + k % 4] >> (quad % 4 * 2) & 3) << 4;
        }
        *out++ = static_cast<float>(value - f.offset) * scale - minimum;
      }
    }
    p += tile_bytes(f, count);
  }
}

}  // namespace bitwin
