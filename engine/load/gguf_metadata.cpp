#include "engine/load/describe.h"
#include "engine/load/gguf.h"

namespace bitwin {
namespace {

const char* type_name(GgufType type) {
  switch (type) {
    case GgufType::u8:
      return "u8";
    case GgufType::i8:
      return "i8";
    case GgufType::u16:
      return "u16";
    case GgufType::i16:
      return "i16";
    case GgufType::u32:
      return "u32";
    case GgufType::i32:
      return "i32";
    case GgufType::f32:
      return "f32";
    case GgufType::boolean:
      return "bool";
    case GgufType::string:
      return "string";
    case GgufType::array:
      return "array";
    case GgufType::u64:
      return "u64";
    case GgufType::i64:
      return "i64";
    case GgufType::f64:
      return "f64";
  }
  return "unknown";
}

bool is_unsigned(GgufType type) {
  return type == GgufType::u8 || type == GgufType::u16 || type == GgufType::u32 || type == GgufType::u64;
}

bool is_signed(GgufType type) {
  return type == GgufType::i8 || type == GgufType::i16 || type == GgufType::i32 || type == GgufType::i64;
}

Status wrong_type(std::string_view key, const GgufValue& value, const char* wanted) {
  return error(Code::format, "key %s is %s, but should be %s", shown(key).c_str(), type_name(value.type), wanted);
}

Status missing(std::string_view key) { return error(Code::format, "key %s is missing", shown(key).c_str()); }

}  // namespace

const GgufValue* GgufMetadata::find(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Result<uint64_t> GgufMetadata::unsigned_or(std::string_view key, uint64_t fallback) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return fallback;
  if (is_unsigned(value->type)) return value->u;
  if (!is_signed(value->type)) return wrong_type(key, *value, "an integer");
  if (value->i < 0) {
    return error(Code::format, "key %s is %lld, but should not be negative", shown(key).c_str(),
                 static_cast<long long>(value->i));
  }
  return static_cast<uint64_t>(value->i);
}

Result<uint64_t> GgufMetadata::require_unsigned(std::string_view key) const {
  if (find(key) == nullptr) return missing(key);
  return unsigned_or(key, 0);
}

Result<double> GgufMetadata::float_or(std::string_view key, double fallback) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return fallback;
  if (value->type != GgufType::f32 && value->type != GgufType::f64) return wrong_type(key, *value, "a float");
  return value->f;
}

Result<bool> GgufMetadata::bool_or(std::string_view key, bool fallback) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return fallback;
  if (value->type != GgufType::boolean) return wrong_type(key, *value, "a bool");
  return value->u != 0;
}

Result<std::string> GgufMetadata::string_or(std::string_view key, std::string_view fallback) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::string(fallback);
  if (value->type != GgufType::string) return wrong_type(key, *value, "a string");
  return value->s;
}

Result<std::string> GgufMetadata::require_string(std::string_view key) const {
  if (find(key) == nullptr) return missing(key);
  return string_or(key, "");
}

}  // namespace bitwin
