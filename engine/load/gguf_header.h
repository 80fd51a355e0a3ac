// The part of a GGUF file before its tensors: magic, counts, metadata, directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/load/gguf.h"

namespace bitwin {

// Limits far beyond any real model; what claims more is damaged or hostile.
inline constexpr uint64_t kMaxHeaderBytes = uint64_t{256} << 20;
inline constexpr uint64_t kMaxKeyBytes = 65535;
inline constexpr uint64_t kMaxEntries = 65536;
inline constexpr uint64_t kMaxArray = uint64_t{1} << 24;
inline constexpr uint64_t kMaxTensors = 100000;
inline constexpr uint64_t kMaxTensorName = 255;
inline constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 56;
inline constexpr uint64_t kMaxAlignment = uint64_t{1} << 20;

// Reads fixed-width little-endian values; a read beyond the end fails and marks the cursor as exhausted.
class ByteCursor {
 public:
  explicit ByteCursor(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool read(uint64_t* value, size_t width);
  bool read(uint32_t* value);
  bool read(uint64_t* value) { return read(value, 8); }
  bool read(std::string* text, uint64_t length);
  std::span<const uint8_t> rest() const { return bytes_.subspan(position_); }
  // The caller found too few bytes in rest().
  void exhaust() { exhausted_ = true; }

  bool exhausted() const { return exhausted_; }
  size_t position() const { return position_; }

 private:
  std::span<const uint8_t> bytes_;
  size_t position_ = 0;
  bool exhausted_ = false;
};

// Parses the header item by item (a count, a key, one element of an array, one tensor of the directory), so that
// memory grows only with bytes that have arrived.
class GgufHeaderParser {
 public:
  explicit GgufHeaderParser(uint64_t file_size) : file_size_(file_size) {}

  // Parses as many whole items as `bytes`, the file from position() on, begin with. *used: the bytes they take.
  Status parse(std::span<const uint8_t> bytes, size_t* used);

  bool complete() const { return stage_ == Stage::complete; }
  // Bytes of the file that were parsed.
  uint64_t position() const { return position_; }
  // The error for a file that ends here, with `unparsed` after position().
  Status truncated(std::span<const uint8_t> unparsed) const;

  // Once complete: offsets are those from the start of the file and have been checked.
  GgufMetadata& metadata() { return metadata_; }
  const std::vector<TensorInfo>& tensors() const { return tensors_; }

 private:
  enum class Stage { magic, version, tensor_count, entry_count, key, value, array, tensor, complete };

  Status parse_item(ByteCursor& in);
  Status parse_magic(ByteCursor& in);
  Status parse_version(ByteCursor& in);
  Status parse_count(ByteCursor& in);
  Status parse_key(ByteCursor& in);
  Status parse_value(ByteCursor& in);
  Status parse_array_start(ByteCursor& in);
  Status parse_element(ByteCursor& in);
  Status parse_tensor(ByteCursor& in);
  Status parse_scalar(ByteCursor& in, GgufType type, GgufValue& value);

  // Whether the file, or the limit of a header where its size is not known, has room for `bytes` after the cursor.
  bool fits(const ByteCursor& in, uint64_t bytes) const;
  Status does_not_fit(const ByteCursor& in, const std::string& what) const;
  Status check_directory();
  Status read_alignment(uint64_t* alignment) const;
  void next_entry();
  void next_element();
  std::string key_name() const;

  uint64_t file_size_;
  uint64_t position_ = 0;
  Stage stage_ = Stage::magic;
  uint64_t tensors_left_ = 0;
  uint64_t entries_left_ = 0;
  uint64_t elements_left_ = 0;
  std::set<std::string> keys_;
  GgufMetadata metadata_;
  std::vector<TensorInfo> tensors_;
};

}  // namespace bitwin
