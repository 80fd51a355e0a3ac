// Packed weights: an exact image of a file's integers and scales, laid out for the kernels.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/buffer.h"
#include "engine/base/status.h"
#include "engine/base/tensor_type.h"
#include "engine/kernels/kernel.h"

namespace bitwin {

class PackedMatrix {
 public:
  // Room for a matrix. cols must be a whole number of the type's blocks. `name` is used in errors.
  static Result<PackedMatrix> allocate(TensorType type, int64_t rows, int64_t cols, const char* name);

  PackedMatrix() = default;
  bool empty() const { return view_.data == nullptr; }
  const MatrixView& view() const { return view_; }
  int64_t rows() const { return view_.rows; }
  int64_t cols() const { return view_.cols; }
  size_t bytes() const { return data_.size(); }

  // Packs rows [first_row, first_row + rows) from the file's bytes; first_row is a multiple of 16.
  // format error when a scale is not finite.
  Status pack_rows(int64_t first_row, int64_t rows, std::span<const uint8_t> bytes, const char* name);

  // The exact float values of one row: [cols].
  void dequantize_row(int64_t row, float* out) const;

 private:
  MatrixView view_{};
  Buffer data_;
};

// Bytes that a packed matrix takes.
uint64_t packed_bytes(TensorType type, int64_t rows, int64_t cols);

}  // namespace bitwin
