#include "engine/kernels/packed.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "engine/base/f32x16_scalar.h"
#include "engine/kernels/layout.h"

namespace bitwin {
namespace {

constexpr int64_t kMaxDimension = int64_t{1} << 31;
// Bytes of the file that a thread takes at a time.
constexpr int64_t kGrainBytes = 64 << 10;

float float_at(TensorType type, const uint8_t* p) {
  uint32_t bits = 0;
  std::memcpy(&bits, p, type == TensorType::f32 ? 4 : 2);
  if (type == TensorType::f16) return half_to_float(static_cast<uint16_t>(bits));
  return bits_float(type == TensorType::bf16 ? bits << 16 : bits);
}

void keep_least(std::atomic<int64_t>& least, int64_t value) {
  int64_t seen = least.load(std::memory_order_relaxed);
  while (value < seen && !least.compare_exchange_weak(seen, value, std::memory_order_relaxed)) continue;
}

}  // namespace

uint64_t packed_bytes(TensorType type, int64_t rows, int64_t cols) {
  const uint64_t blocks = static_cast<uint64_t>((rows + kBlockRows - 1) / kBlockRows);
  return blocks * static_cast<uint64_t>(block_bytes(packed_format(type), cols));
}

int64_t file_row_bytes(TensorType type, int64_t cols) {
  const TensorTypeInfo* info = tensor_type_info(type);
  return cols / info->block * info->bytes;
}

void read_floats(TensorType type, const uint8_t* bytes, int64_t n, float* out) {
  const int64_t step = packed_format(type).element;
  for (int64_t i = 0; i < n; ++i) out[i] = float_at(type, bytes + i * step);
}

Result<PackedMatrix> PackedMatrix::create(TensorType type, int64_t rows, int64_t cols, const char* name) {
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
  matrix.view_ = {type, nullptr, rows, cols, block_bytes(packed_format(type), cols)};
  return matrix;
}

Result<PackedMatrix> PackedMatrix::allocate(TensorType type, int64_t rows, int64_t cols, const char* name) {
  BITWIN_ASSIGN_OR_RETURN(PackedMatrix matrix, create(type, rows, cols, name));
  BITWIN_ASSIGN_OR_RETURN(matrix.own_, Buffer::allocate(static_cast<size_t>(matrix.bytes()), name));
  matrix.place(matrix.own_.data());
  return matrix;
}

uint64_t PackedMatrix::bytes() const { return empty() ? 0 : packed_bytes(view_.type, view_.rows, view_.cols); }

void PackedMatrix::place(uint8_t* memory) {
  memory_ = memory;
  view_.data = memory;
}

Status PackedMatrix::pack_rows(const KernelTable& kernel, ThreadPool* pool, int64_t first_row, int64_t rows,
                               std::span<const uint8_t> bytes, const char* name) {
  const int64_t row_bytes = file_row_bytes(view_.type, view_.cols);
  if (first_row < 0 || rows < 0 || first_row % kBlockRows != 0 || rows > view_.rows - first_row ||
      (rows % kBlockRows != 0 && first_row + rows != view_.rows) ||
      bytes.size() != static_cast<size_t>(rows * row_bytes))
    return error(Code::internal, "tensor %s: rows %lld to %lld do not fit %lld rows of %lld bytes", name,
                 static_cast<long long>(first_row), static_cast<long long>(first_row + rows),
                 static_cast<long long>(view_.rows), static_cast<long long>(row_bytes));
  const int64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
  const PackArgs args = {view_.type,       view_.cols, rows,
                         bytes.data(),     row_bytes,  memory_ + first_row / kBlockRows * view_.block_bytes,
                         view_.block_bytes};
  std::atomic<int64_t> bad_row = INT64_MAX;
  const auto pack = [&](int64_t begin, int64_t end, int) {
    const int64_t bad = kernel.pack(args, begin, end);
    if (bad >= 0) keep_least(bad_row, bad);
  };
  if (pool == nullptr) {
    pack(0, blocks, 0);
  } else {
    pool->parallel_for(blocks, std::max<int64_t>(1, kGrainBytes / (row_bytes * kBlockRows)), pack);
  }
  if (bad_row != INT64_MAX)
    return error(Code::format, "tensor %s: a scale in row %lld is infinite or not a number: the file is damaged", name,
                 static_cast<long long>(first_row + bad_row));
  return Status();
}

void PackedMatrix::dequantize_row(int64_t row, float* out) const {
  const PackedFormat f = packed_format(view_.type);
  const uint8_t* p = view_.data + row / kBlockRows * view_.block_bytes;
  const int64_t lane = row % kBlockRows;
  if (f.bits == 0) {
    for (int64_t k = 0; k < view_.cols; ++k) out[k] = float_at(view_.type, p + (k * kBlockRows + lane) * f.element);
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
