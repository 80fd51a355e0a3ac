// Writes small GGUF files in memory, well-formed ones and, where asked, damaged ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/load/gguf.h"

namespace bitwin::testing {

// The IEEE-754 binary16 nearest to `value` (ties to even, infinity beyond the range).
uint16_t to_f16(float value);
// The bfloat16 nearest to `value` (ties to even); `value` is finite.
uint16_t to_bf16(float value);

// Appends the `bytes` lowest bytes of `value`, lowest first.
void append_le(std::vector<uint8_t>& out, uint64_t value, size_t bytes);

// Collects metadata and tensors, then lays them out: header, metadata, directory, padding, tensors.
class GgufWriter {
 public:
  explicit GgufWriter(uint32_t version = 3) : version_(version) {}

  void add_unsigned(std::string_view key, GgufType type, uint64_t value);
  void add_signed(std::string_view key, GgufType type, int64_t value);
  void add_u32(std::string_view key, uint32_t value) { add_unsigned(key, GgufType::u32, value); }
  void add_bool(std::string_view key, bool value) { add_unsigned(key, GgufType::boolean, value ? 1 : 0); }
  void add_f32(std::string_view key, float value);
  void add_f64(std::string_view key, double value);
  void add_string(std::string_view key, std::string_view value);
  void add_strings(std::string_view key, const std::vector<std::string>& values);
  void add_integers(std::string_view key, GgufType element, const std::vector<int64_t>& values);
  void add_f32s(std::string_view key, const std::vector<float>& values);
  void add_f64s(std::string_view key, const std::vector<double>& values);
  // Any bytes as the value of a key of any type number.
  void add_raw(std::string_view key, uint32_t type, const std::vector<uint8_t>& value);

  // Takes effect for the layout and is written as general.alignment.
  void set_alignment(uint32_t alignment);

  // `dims` in ggml's order, row length first; `data` is not checked against them.
  void add_tensor(std::string_view name, uint32_t type, const std::vector<uint64_t>& dims, std::vector<uint8_t> data);
  void add_tensor(std::string_view name, TensorType type, const std::vector<uint64_t>& dims,
                  std::vector<uint8_t> data) {
    add_tensor(name, static_cast<uint32_t>(type), dims, std::move(data));
  }
  // Declares another offset (from the start of the data section) for the tensor added last.
  void set_last_offset(uint64_t offset);
  // Declares other counts than there are.
  void set_tensor_count(uint64_t count) { tensor_count_ = count; }
  void set_entry_count(uint64_t count) { entry_count_ = count; }

  std::vector<uint8_t> finish() const;

 private:
  struct Tensor {
    std::string name;
    uint32_t type;
    std::vector<uint64_t> dims;
    std::vector<uint8_t> data;
    std::optional<uint64_t> declared_offset;
  };

  void begin_entry(std::string_view key, uint32_t type);
  void append_string(std::vector<uint8_t>& out, std::string_view text) const;

  uint32_t version_;
  uint64_t alignment_ = 32;
  uint64_t entries_ = 0;
  std::optional<uint64_t> tensor_count_;
  std::optional<uint64_t> entry_count_;
  std::vector<uint8_t> metadata_;
  std::vector<Tensor> tensors_;
};

}  // namespace bitwin::testing
