#include "engine/load/gguf_header.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/load/describe.h"

namespace bitwin {
namespace {

// Bytes of one value; of strings, the fewest they can have; 0 for arrays and unknown types.
size_t value_bytes(GgufType type) {
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
    case GgufType::u64:
    case GgufType::i64:
    case GgufType::f64:
    case GgufType::string:
      return 8;
    case GgufType::array:
      return 0;
  }
  return 0;
}

int64_t sign_extend(uint64_t value, size_t bytes) {
  const int shift = static_cast<int>(64 - 8 * bytes);
  return static_cast<int64_t>(value << shift) >> shift;
}

// What a file that is not GGUF seems to be, from its first bytes.
std::string guess_format(std::span<const uint8_t> bytes) {
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t text = start.find_first_not_of(" \t\r\n");
  const std::string_view trimmed = text == std::string_view::npos ? start : start.substr(text);
  if (start.size() >= 9 && start[8] == '{') return "it looks like safetensors, which has to be converted";
  if (start.starts_with("PK\x03\x04")) return "it looks like a zip archive or a PyTorch checkpoint";
  if (start.starts_with("\x80\x02")) return "it looks like a Python pickle, such as a PyTorch checkpoint";
  if (start.starts_with("\x1f\x8b")) return "it looks like a gzip archive";
  if (start.starts_with("version https://")) return "it looks like a Git LFS pointer: the file itself was not fetched";
  if (start.starts_with("lmgg") || start.starts_with("fmgg") || start.starts_with("tjgg")) {
    return "it looks like a file of the older GGML formats";
  }
  if (trimmed.starts_with("<")) return "it looks like a web page (HTML or XML)";
  if (trimmed.starts_with("{") || trimmed.starts_with("[")) return "it looks like JSON";
  return "it begins with \"" + shown(start) + "\"";
}

}  // namespace

bool ByteCursor::read(uint64_t* value, size_t width) {
  if (bytes_.size() - position_ < width) {
    exhausted_ = true;
    return false;
  }
  *value = 0;
  for (size_t i = 0; i < width; ++i) *value |= uint64_t{bytes_[position_ + i]} << (8 * i);
  position_ += width;
  return true;
}

bool ByteCursor::read(uint32_t* value) {
  uint64_t wide = 0;
  if (!read(&wide, 4)) return false;
  *value = static_cast<uint32_t>(wide);
  return true;
}

bool ByteCursor::read(std::string* text, uint64_t length) {
  if (bytes_.size() - position_ < length) {
    exhausted_ = true;
    return false;
  }
  const auto size = static_cast<size_t>(length);
  text->assign(reinterpret_cast<const char*>(bytes_.data()) + position_, size);
  position_ += size;
  return true;
}

Status GgufHeaderParser::parse(std::span<const uint8_t> bytes, size_t* used) {
  *used = 0;
  const uint64_t start = position_;
  while (!complete()) {
    ByteCursor in(bytes.subspan(*used));
    BITWIN_RETURN_IF_ERROR(parse_item(in));
    if (in.exhausted()) break;
    *used += in.position();
    position_ = start + *used;
    if (stage_ == Stage::complete) BITWIN_RETURN_IF_ERROR(check_directory());
  }
  return {};
}

Status GgufHeaderParser::parse_item(ByteCursor& in) {
  switch (stage_) {
    case Stage::magic:
      return parse_magic(in);
    case Stage::version:
      return parse_version(in);
    case Stage::tensor_count:
    case Stage::entry_count:
      return parse_count(in);
    case Stage::key:
      return parse_key(in);
    case Stage::value:
      return parse_value(in);
    case Stage::array:
      return parse_element(in);
    case Stage::tensor:
      return parse_tensor(in);
    case Stage::complete:
      break;
  }
  return {};
}

Status GgufHeaderParser::parse_magic(ByteCursor& in) {
  const std::span<const uint8_t> rest = in.rest();
  uint32_t magic = 0;
  if (!in.read(&magic)) return {};
  if (magic == 0x46554747) {  // "GGUF"
    stage_ = Stage::version;
    return {};
  }
  // A few bytes more tell what the file is instead.
  constexpr size_t kEnough = 16;
  if (rest.size() < kEnough) {
    in.exhaust();
    return {};
  }
  return error(Code::format, "the file is not GGUF: %s", guess_format(rest.first(kEnough)).c_str());
}

Status GgufHeaderParser::parse_version(ByteCursor& in) {
  uint32_t version = 0;
  if (!in.read(&version)) return {};
  if (version == 2 || version == 3) {
    stage_ = Stage::tensor_count;
    return {};
  }
  if (version != 0 && (version & 0xffff) == 0) {
    return error(Code::unsupported,
                 "the file is big-endian GGUF (version bytes %02x %02x %02x %02x), which is not supported",
                 version & 255, version >> 8 & 255, version >> 16 & 255, version >> 24);
  }
  return error(Code::unsupported, "the file is GGUF version %s, which is not supported (supported: 2, 3)",
               grouped(version).c_str());
}

// The fewest bytes of a directory entry and of a metadata entry bound their counts.
Status GgufHeaderParser::parse_count(ByteCursor& in) {
  uint64_t count = 0;
  if (!in.read(&count)) return {};
  const bool tensors = stage_ == Stage::tensor_count;
  const char* what = tensors ? "tensors" : "metadata entries";
  const uint64_t limit = tensors ? kMaxTensors : kMaxEntries;
  if (count > limit) {
    return error(Code::format, "the file claims %s %s, but at most %s are allowed", grouped(count).c_str(), what,
                 grouped(limit).c_str());
  }
  constexpr uint64_t kFewestTensorBytes = 8 + 1 + 4 + 8 + 4 + 8, kFewestEntryBytes = 8 + 1 + 4 + 1;
  const uint64_t fewest = count * (tensors ? kFewestTensorBytes : kFewestEntryBytes);
  if (!fits(in, fewest)) return does_not_fit(in, "the list of " + grouped(count) + " " + what);
  if (tensors) {
    tensors_left_ = count;
    stage_ = Stage::entry_count;
    return {};
  }
  entries_left_ = count + 1;
  next_entry();
  return {};
}

Status GgufHeaderParser::parse_key(ByteCursor& in) {
  const std::string what = "the name of metadata entry " + grouped(metadata_.entries().size() + 1);
  uint64_t length = 0;
  if (!in.read(&length)) return {};
  if (length == 0) return error(Code::format, "%s is empty", what.c_str());
  if (length > kMaxKeyBytes) {
    return error(Code::format, "%s has %s bytes, but at most %s are allowed", what.c_str(), grouped(length).c_str(),
                 grouped(kMaxKeyBytes).c_str());
  }
  if (!fits(in, length)) return does_not_fit(in, what);
  std::string key;
  uint32_t type = 0;
  if (!in.read(&key, length) || !in.read(&type)) return {};
  if (type > static_cast<uint32_t>(GgufType::f64)) {
    return error(Code::format, "key %s has the unknown value type %s", shown(key).c_str(), grouped(type).c_str());
  }
  if (!keys_.insert(key).second) return error(Code::format, "key %s occurs twice", shown(key).c_str());
  GgufMetadata::Entry entry;
  entry.key = std::move(key);
  entry.value.type = static_cast<GgufType>(type);
  metadata_.mutable_entries().push_back(std::move(entry));
  stage_ = Stage::value;
  return {};
}

Status GgufHeaderParser::parse_value(ByteCursor& in) {
  GgufValue& value = metadata_.mutable_entries().back().value;
  if (value.type == GgufType::array) return parse_array_start(in);
  BITWIN_RETURN_IF_ERROR(parse_scalar(in, value.type, value));
  if (!in.exhausted()) next_entry();
  return {};
}

// Leaves the value in the member for its kind.
Status GgufHeaderParser::parse_scalar(ByteCursor& in, GgufType type, GgufValue& value) {
  const size_t width = value_bytes(type);
  uint64_t bits = 0;
  if (!in.read(&bits, width)) return {};
  switch (type) {
    case GgufType::string:
      if (!fits(in, bits)) return does_not_fit(in, key_name() + ": a string of " + grouped(bits) + " bytes");
      in.read(&value.s, bits);
      return {};
    case GgufType::i8:
    case GgufType::i16:
    case GgufType::i32:
    case GgufType::i64:
      value.i = sign_extend(bits, width);
      return {};
    case GgufType::f32:
      value.f = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
      return {};
    case GgufType::f64:
      value.f = std::bit_cast<double>(bits);
      return {};
    case GgufType::boolean:
      if (bits > 1) {
        return error(Code::format, "%s: a bool is 0 or 1, not %s", key_name().c_str(), grouped(bits).c_str());
      }
      value.u = bits;
      return {};
    default:
      value.u = bits;
      return {};
  }
}

Status GgufHeaderParser::parse_array_start(ByteCursor& in) {
  uint32_t type = 0;
  uint64_t count = 0;
  if (!in.read(&type) || !in.read(&count)) return {};
  if (type > static_cast<uint32_t>(GgufType::f64)) {
    return error(Code::format, "%s: an array of the unknown type %s", key_name().c_str(), grouped(type).c_str());
  }
  if (type == static_cast<uint32_t>(GgufType::array)) {
    return error(Code::unsupported, "%s: arrays of arrays are not supported", key_name().c_str());
  }
  if (count > kMaxArray) {
    return error(Code::format, "%s: an array of %s elements, but at most %s are allowed", key_name().c_str(),
                 grouped(count).c_str(), grouped(kMaxArray).c_str());
  }
  GgufValue& value = metadata_.mutable_entries().back().value;
  value.element = static_cast<GgufType>(type);
  if (!fits(in, count * value_bytes(value.element))) {
    return does_not_fit(in, key_name() + ": an array of " + grouped(count) + " elements");
  }
  elements_left_ = count + 1;
  stage_ = Stage::array;
  next_element();
  return {};
}

Status GgufHeaderParser::parse_element(ByteCursor& in) {
  GgufValue& value = metadata_.mutable_entries().back().value;
  GgufValue element;
  BITWIN_RETURN_IF_ERROR(parse_scalar(in, value.element, element));
  if (in.exhausted()) return {};
  switch (value.element) {
    case GgufType::string:
      value.strings.push_back(std::move(element.s));
      break;
    case GgufType::f32:
    case GgufType::f64:
      value.floats.push_back(element.f);
      break;
    case GgufType::i8:
    case GgufType::i16:
    case GgufType::i32:
    case GgufType::i64:
      value.integers.push_back(element.i);
      break;
    default:
      if (element.u > static_cast<uint64_t>(INT64_MAX)) {
        return error(Code::unsupported, "%s: element %s is %s, beyond the supported range", key_name().c_str(),
                     grouped(value.integers.size()).c_str(), grouped(element.u).c_str());
      }
      value.integers.push_back(static_cast<int64_t>(element.u));
      break;
  }
  next_element();
  return {};
}

void GgufHeaderParser::next_element() {
  if (--elements_left_ == 0) next_entry();
}

void GgufHeaderParser::next_entry() {
  if (--entries_left_ != 0) {
    stage_ = Stage::key;
  } else {
    stage_ = tensors_left_ != 0 ? Stage::tensor : Stage::complete;
  }
}

std::string GgufHeaderParser::key_name() const { return "key " + shown(metadata_.entries().back().key); }

bool GgufHeaderParser::fits(const ByteCursor& in, uint64_t bytes) const {
  const uint64_t at = position_ + in.position();
  const uint64_t end = file_size_ != 0 ? std::min(file_size_, kMaxHeaderBytes) : kMaxHeaderBytes;
  return at <= end && bytes <= end - at;
}

Status GgufHeaderParser::does_not_fit(const ByteCursor& in, const std::string& what) const {
  const std::string at = grouped(position_ + in.position());
  if (file_size_ == 0 || file_size_ > kMaxHeaderBytes) {
    return error(Code::format, "%s, from byte %s on, is too long: all metadata together may have %s bytes",
                 what.c_str(), at.c_str(), grouped(kMaxHeaderBytes).c_str());
  }
  return error(Code::format, "%s, from byte %s on, does not fit into the file of %s bytes: it is damaged or incomplete",
               what.c_str(), at.c_str(), grouped(file_size_).c_str());
}

Status GgufHeaderParser::truncated(std::span<const uint8_t> unparsed) const {
  const uint64_t end = position_ + unparsed.size();
  if (end == 0) return error(Code::format, "the file is empty");
  constexpr std::string_view kMagic = "GGUF";
  const std::string_view start(reinterpret_cast<const char*>(unparsed.data()), unparsed.size());
  if (stage_ == Stage::magic && start != kMagic.substr(0, start.size())) {
    return error(Code::format, "the file is not GGUF: %s", guess_format(unparsed).c_str());
  }
  std::string where = "its first fields";
  if (stage_ == Stage::tensor) {
    where =
        "the directory, at tensor " + grouped(tensors_.size() + 1) + " of " + grouped(tensors_.size() + tensors_left_);
  } else if (stage_ == Stage::key) {
    where = "the metadata, at entry " + grouped(metadata_.entries().size() + 1);
  } else if (stage_ == Stage::value || stage_ == Stage::array) {
    where = "the metadata, in " + key_name();
  }
  return error(Code::format, "the file ends after %s bytes inside %s: the download is incomplete", grouped(end).c_str(),
               where.c_str());
}

}  // namespace bitwin
