// Packed weights: an exact image of a file's integers and scales, laid out for the kernels.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/buffer.h"
#include "engine/base/status.h"
#include "engine/base/tensor_type.h"
#include "engine/base/thread_pool.h"
#include "engine/kernels/kernel.h"

namespace bitwin {

class PackedMatrix {
 public:
  // A matrix without memory yet. cols must be a whole number of the type's blocks (format error). `name` is used in
  // errors.
  static Result<PackedMatrix> create(TensorType type, int64_t rows, int64_t cols, const char* name);
  // The same with memory of its own.
  static Result<PackedMatrix> allocate(TensorType type, int64_t rows, int64_t cols, const char* name);

  PackedMatrix() = default;
  bool empty() const { return view_.rows == 0; }
  const MatrixView& view() const { return view_; }
  int64_t rows() const { return view_.rows; }
  int64_t cols() const { return view_.cols; }
  // Bytes that it takes: whole blocks of 16 rows.
  uint64_t bytes() const;

  // Puts it into `memory` of bytes() bytes, 64-byte aligned, which outlives it.
  void place(uint8_t* memory);
  uint8_t* data() { return memory_; }

  // Packs rows [first_row, first_row + rows) from the file's bytes; first_row is a multiple of 16, and so is rows
  // except at the matrix's end. The blocks are shared among the threads of `pool` (null: this one does it all). format
  // error when a scale is not finite.
  Status pack_rows(const KernelTable& kernel, ThreadPool* pool, int64_t first_row, int64_t rows,
                   std::span<const uint8_t> bytes, const char* name);

  // The exact float values of one row: [cols].
  void dequantize_row(int64_t row, float* out) const;

 private:
  MatrixView view_{};
  uint8_t* memory_ = nullptr;
  Buffer own_;
};

// Bytes that a packed matrix takes.
uint64_t packed_bytes(TensorType type, int64_t rows, int64_t cols);

// Bytes of one row in a GGUF file.
int64_t file_row_bytes(TensorType type, int64_t cols);

// The n values of a vector of a float type as a file has them.
void read_floats(TensorType type, const uint8_t* bytes, int64_t n, float* out);

}  // namespace bitwin
