#include "tests/support/gguf_writer.h"

#include <bit>
#include <utility>

namespace bitwin::testing {
namespace {

size_t scalar_bytes(GgufType type) {
  switch (type) {
    case GgufType::u8:
    case GgufType::i8:
    case GgufType::boolean:
      return 1;
    case GgufType::u16:
    case GgufType::i16:
      return 2;
    case GgufType::u32:
    case GgufType::i32:
    case GgufType::f32:
      return 4;
    default:
      return 8;
  }
}

uint64_t align_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

}  // namespace

uint16_t to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  if (exponent < -25) return static_cast<uint16_t>(sign);
  // Below 2^-14 the significand loses one more bit for each power of two; the carry of the rounding runs into
  // the exponent, up to infinity.
  const bool subnormal = exponent < -14;
  const uint32_t shift = subnormal ? static_cast<uint32_t>(-1 - exponent) : 13;
  const uint32_t significand = (magnitude & 0x7fffff) | 0x800000;
  const uint32_t rest = significand & ((1u << shift) - 1);
  const uint32_t half = 1u << (shift - 1);
  uint32_t rounded = significand >> shift;
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  if (!subnormal) rounded += static_cast<uint32_t>(exponent + 14) << 10;
  if (exponent > 15 || rounded > 0x7c00) rounded = 0x7c00;
  return static_cast<uint16_t>(sign | rounded);
}

uint16_t to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void append_le(std::vector<uint8_t>& out, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

void GgufWriter::append_string(std::vector<uint8_t>& out, std::string_view text) const {
  append_le(out, text.size(), 8);
  out.insert(out.end(), text.begin(), text.end());
}

void GgufWriter::begin_entry(std::string_view key, uint32_t type) {
  append_string(metadata_, key);
  append_le(metadata_, type, 4);
  ++entries_;
}

void GgufWriter::add_unsigned(std::string_view key, GgufType type, uint64_t value) {
  begin_entry(key, static_cast<uint32_t>(type));
  append_le(metadata_, value, scalar_bytes(type));
}

void GgufWriter::add_signed(std::string_view key, GgufType type, int64_t value) {
  add_unsigned(key, type, static_cast<uint64_t>(value));
}

void GgufWriter::add_f32(std::string_view key, float value) {
  add_unsigned(key, GgufType::f32, std::bit_cast<uint32_t>(value));
}

void GgufWriter::add_f64(std::string_view key, double value) {
  add_unsigned(key, GgufType::f64, std::bit_cast<uint64_t>(value));
}

void GgufWriter::add_string(std::string_view key, std::string_view value) {
  begin_entry(key, static_cast<uint32_t>(GgufType::string));
  append_string(metadata_, value);
}

void GgufWriter::add_strings(std::string_view key, const std::vector<std::string>& values) {
  begin_entry(key, static_cast<uint32_t>(GgufType::array));
  append_le(metadata_, static_cast<uint32_t>(GgufType::string), 4);
  append_le(metadata_, values.size(), 8);
  for (const std::string& value : values) append_string(metadata_, value);
}

void GgufWriter::add_integers(std::string_view key, GgufType element, const std::vector<int64_t>& values) {
  begin_entry(key, static_cast<uint32_t>(GgufType::array));
  append_le(metadata_, static_cast<uint32_t>(element), 4);
  append_le(metadata_, values.size(), 8);
  for (int64_t value : values) append_le(metadata_, static_cast<uint64_t>(value), scalar_bytes(element));
}

void GgufWriter::add_f32s(std::string_view key, const std::vector<float>& values) {
  begin_entry(key, static_cast<uint32_t>(GgufType::array));
  append_le(metadata_, static_cast<uint32_t>(GgufType::f32), 4);
  append_le(metadata_, values.size(), 8);
  for (float value : values) append_le(metadata_, std::bit_cast<uint32_t>(value), 4);
}

void GgufWriter::add_f64s(std::string_view key, const std::vector<double>& values) {
  begin_entry(key, static_cast<uint32_t>(GgufType::array));
  append_le(metadata_, static_cast<uint32_t>(GgufType::f64), 4);
  append_le(metadata_, values.size(), 8);
  for (double value : values) append_le(metadata_, std::bit_cast<uint64_t>(value), 8);
}

void GgufWriter::add_raw(std::string_view key, uint32_t type, const std::vector<uint8_t>& value) {
  begin_entry(key, type);
  metadata_.insert(metadata_.end(), value.begin(), value.end());
}

void GgufWriter::set_alignment(uint32_t alignment) {
  alignment_ = alignment;
  add_u32("general.alignment", alignment);
}

void GgufWriter::add_tensor(std::string_view name, uint32_t type, const std::vector<uint64_t>& dims,
                            std::vector<uint8_t> data) {
  tensors_.push_back({std::string(name), type, dims, std::move(data), std::nullopt});
}

void GgufWriter::set_last_offset(uint64_t offset) { tensors_.back().declared_offset = offset; }

std::vector<uint8_t> GgufWriter::finish() const {
  std::vector<uint8_t> out = {'G', 'G', 'U', 'F'};
  append_le(out, version_, 4);
  append_le(out, tensor_count_.value_or(tensors_.size()), 8);
  append_le(out, entry_count_.value_or(entries_), 8);
  out.insert(out.end(), metadata_.begin(), metadata_.end());
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    append_string(out, tensor.name);
    append_le(out, tensor.dims.size(), 4);
    for (uint64_t dim : tensor.dims) append_le(out, dim, 8);
    append_le(out, tensor.type, 4);
    append_le(out, tensor.declared_offset.value_or(offset), 8);
    offset = align_up(offset + tensor.data.size(), alignment_);
  }
  for (const Tensor& tensor : tensors_) {
    out.resize(align_up(out.size(), alignment_));
    out.insert(out.end(), tensor.data.begin(), tensor.data.end());
  }
  return out;
}

}  // namespace bitwin::testing
