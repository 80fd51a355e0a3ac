// An incremental reader of GGUF files (versions 2 and 3, little-endian): fed bytes in pieces of any size,
// it hands out rows of tensors as they become complete, so that the file is never held in memory.
// Format: the GGUF specification of the ggml project.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/base/tensor_type.h"

namespace bitwin {

enum class GgufType : uint32_t {
  u8 = 0, i8 = 1, u16 = 2, i16 = 3, u32 = 4, i32 = 5, f32 = 6, boolean = 7, string = 8, array = 9, u64 = 10, i64 = 11, f64 = 12,
};

// One metadata value. Scalars are kept widened; arrays of strings and of numbers in their own vectors.
struct GgufValue {
  GgufType type = GgufType::u8;
  GgufType element = GgufType::u8;  // of an array
  uint64_t u = 0;                   // unsigned integers and booleans
  int64_t i = 0;                    // signed integers
  double f = 0;                     // floats
  std::string s;                    // strings
  std::vector<std::string> strings; // arrays of strings
  std::vector<int64_t> integers;    // arrays of integers and booleans (u64 beyond int64 is refused)
  std::vector<double> floats;       // arrays of floats
};

// The key-value section. Getters return a `format` error naming the key when it has the wrong type
// or is out of range, and `fallback` when it is absent; require_* make absence an error too.
class GgufMetadata {
 public:
  const GgufValue* find(std::string_view key) const;
  Result<uint64_t> unsigned_or(std::string_view key, uint64_t fallback) const;
  Result<uint64_t> require_unsigned(std::string_view key) const;
  Result<double> float_or(std::string_view key, double fallback) const;
  Result<bool> bool_or(std::string_view key, bool fallback) const;
  Result<std::string> string_or(std::string_view key, std::string_view fallback) const;
  Result<std::string> require_string(std::string_view key) const;

  struct Entry {
    std::string key;
    GgufValue value;
  };
  const std::vector<Entry>& entries() const { return entries_; }  // in file order
  std::vector<Entry>& mutable_entries() { return entries_; }

 private:
  std::vector<Entry> entries_;
};

// A tensor of the directory. dims[0] is the row length (ggml's order); absent dimensions are 1.
struct TensorInfo {
  std::string name;
  TensorType type = TensorType::f32;
  int dimensions = 0;
  uint64_t dims[4] = {1, 1, 1, 1};
  uint64_t offset = 0;  // of the first byte, from the start of the file
  uint64_t bytes = 0;

  int64_t cols() const { return static_cast<int64_t>(dims[0]); }
  int64_t rows() const { return static_cast<int64_t>(dims[1] * dims[2] * dims[3]); }
};

// Receives what the reader finds. A Status that is not ok ends the reading and is returned from feed().
class GgufSink {
 public:
  virtual ~GgufSink() = default;

  // The header is complete: metadata and directory, in file order. `tensors` stays valid until the reader goes.
  virtual Status on_header(GgufMetadata& metadata, std::span<const TensorInfo> tensors) = 0;

  // Rows [first_row, first_row + rows) of a tensor, contiguous, in order. first_row is a multiple of 16, and so is
  // `rows` except at the tensor's end. Called in the order of the tensors' offsets. The bytes are only lent.
  virtual Status on_rows(const TensorInfo& tensor, int64_t first_row, int64_t rows, std::span<const uint8_t> bytes) = 0;

  // The tensor's last byte has arrived.
  virtual Status on_tensor_end(const TensorInfo& tensor) = 0;
};

// Checks every count, offset, alignment, dimension and length against overflow and, once `file_size` is known,
// against the file, before it is used. Errors name the tensor or key and the numbers.
class GgufReader {
 public:
  // `file_size` in bytes, 0 when not known in advance (a stream).
  GgufReader(GgufSink& sink, uint64_t file_size);
  ~GgufReader();
  GgufReader(const GgufReader&) = delete;
  GgufReader& operator=(const GgufReader&) = delete;

  // Takes the next bytes of the file. After an error every further call returns the same error.
  Status feed(std::span<const uint8_t> bytes);

  // The file has ended: an error when something is missing.
  Status finish();

  bool header_complete() const;
  uint64_t header_bytes() const;  // 0 until it is complete
  uint64_t bytes_fed() const;
  // Bytes up to the end of the last tensor; 0 until the header is complete.
  uint64_t bytes_needed() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bitwin
