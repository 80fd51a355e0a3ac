// The directory of tensors: one entry, and what must hold for all of them together.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "engine/load/describe.h"
#include "engine/load/gguf_header.h"

namespace bitwin {
namespace {

std::string tensor_name(const TensorInfo& tensor) { return "tensor " + shown(tensor.name); }

std::string supported_types() {
  std::string names;
  for (uint32_t type = 0; type < 64; ++type) {
    const TensorTypeInfo* info = tensor_type_info(type);
    if (info != nullptr) names += (names.empty() ? "" : ", ") + std::string(info->name);
  }
  return names;
}

Status check_type(const TensorInfo& tensor, uint32_t type) {
  if (tensor_type_info(type) != nullptr) return {};
  const char* name = tensor_type_name(type);
  if (name == nullptr) {
    return error(Code::format, "%s has the unknown type %s", tensor_name(tensor).c_str(), grouped(type).c_str());
  }
  return error(Code::unsupported, "%s has type %s, which is not supported (supported: %s)", tensor_name(tensor).c_str(),
               name, supported_types().c_str());
}

// Sets the size in bytes from type and dimensions, none of which overflows afterwards.
Status measure(TensorInfo& tensor) {
  const TensorTypeInfo& type = *tensor_type_info(tensor.type);
  const uint64_t block = static_cast<uint64_t>(type.block);
  if (tensor.dims[0] % block != 0) {
    return error(Code::format, "%s: rows of %s elements are not whole blocks of %s (%s)", tensor_name(tensor).c_str(),
                 grouped(tensor.dims[0]).c_str(), grouped(block).c_str(), type.name);
  }
  uint64_t bytes = static_cast<uint64_t>(type.bytes);
  const uint64_t counts[] = {tensor.dims[0] / block, tensor.dims[1], tensor.dims[2], tensor.dims[3]};
  for (uint64_t count : counts) {
    if (count > kMaxTensorBytes / bytes) {
      return error(Code::format, "%s is too large: %s x %s x %s x %s elements", tensor_name(tensor).c_str(),
                   grouped(tensor.dims[0]).c_str(), grouped(tensor.dims[1]).c_str(), grouped(tensor.dims[2]).c_str(),
                   grouped(tensor.dims[3]).c_str());
    }
    bytes *= count;
  }
  tensor.bytes = bytes;
  return {};
}

}  // namespace

Status GgufHeaderParser::parse_tensor(ByteCursor& in) {
  const std::string what = "the name of tensor " + grouped(tensors_.size() + 1);
  uint64_t length = 0;
  if (!in.read(&length)) return {};
  if (length == 0) return error(Code::format, "%s is empty", what.c_str());
  if (length > kMaxTensorName) {
    return error(Code::format, "%s has %s bytes, but at most %s are allowed", what.c_str(), grouped(length).c_str(),
                 grouped(kMaxTensorName).c_str());
  }
  if (!fits(in, length)) return does_not_fit(in, what);
  TensorInfo tensor;
  uint32_t dimensions = 0, type = 0;
  if (!in.read(&tensor.name, length) || !in.read(&dimensions)) return {};
  if (dimensions < 1 || dimensions > 4) {
    return error(Code::format, "%s has %s dimensions, but should have 1 to 4", tensor_name(tensor).c_str(),
                 grouped(dimensions).c_str());
  }
  tensor.dimensions = static_cast<int>(dimensions);
  for (uint32_t i = 0; i < dimensions; ++i) {
    if (!in.read(&tensor.dims[i])) return {};
    if (tensor.dims[i] == 0) {
      return error(Code::format, "%s: dimension %u is zero", tensor_name(tensor).c_str(), i + 1);
    }
  }
  if (!in.read(&type) || !in.read(&tensor.offset)) return {};
  BITWIN_RETURN_IF_ERROR(check_type(tensor, type));
  tensor.type = static_cast<TensorType>(type);
  BITWIN_RETURN_IF_ERROR(measure(tensor));
  tensors_.push_back(std::move(tensor));
  if (--tensors_left_ == 0) stage_ = Stage::complete;
  return {};
}

Status GgufHeaderParser::read_alignment(uint64_t* alignment) const {
  constexpr const char* kKey = "general.alignment";
  BITWIN_ASSIGN_OR_RETURN(*alignment, metadata_.unsigned_or(kKey, 32));
  if (!std::has_single_bit(*alignment) || *alignment > kMaxAlignment) {
    return error(Code::format, "key %s is %s, but should be a power of two up to %s", kKey, grouped(*alignment).c_str(),
                 grouped(kMaxAlignment).c_str());
  }
  return {};
}

Status GgufHeaderParser::check_directory() {
  uint64_t alignment = 0;
  BITWIN_RETURN_IF_ERROR(read_alignment(&alignment));
  const uint64_t data = (position_ + alignment - 1) / alignment * alignment;
  std::vector<const TensorInfo*> order;
  for (TensorInfo& tensor : tensors_) {
    if (tensor.offset % alignment != 0) {
      return error(Code::format, "%s: its offset %s is not a multiple of the alignment %s", tensor_name(tensor).c_str(),
                   grouped(tensor.offset).c_str(), grouped(alignment).c_str());
    }
    if (tensor.offset > kMaxTensorBytes) {
      return error(Code::format, "%s: its offset %s is beyond any file", tensor_name(tensor).c_str(),
                   grouped(tensor.offset).c_str());
    }
    tensor.offset += data;
    const uint64_t end = tensor.offset + tensor.bytes;
    if (file_size_ != 0 && end > file_size_) {
      return error(Code::format, "%s ends at byte %s but the file has %s: the download is incomplete",
                   tensor_name(tensor).c_str(), grouped(end).c_str(), grouped(file_size_).c_str());
    }
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i]->name == order[i - 1]->name) {
      return error(Code::format, "%s occurs twice", tensor_name(*order[i]).c_str());
    }
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const TensorInfo &before = *order[i - 1], &after = *order[i];
    if (before.offset + before.bytes > after.offset) {
      return error(Code::format, "%s, bytes %s to %s, overlaps %s, which begins at byte %s",
                   tensor_name(before).c_str(), grouped(before.offset).c_str(),
                   grouped(before.offset + before.bytes).c_str(), tensor_name(after).c_str(),
                   grouped(after.offset).c_str());
    }
  }
  return {};
}

}  // namespace bitwin
