#include "engine/base/buffer.h"

#include "engine/base/system.h"

namespace bitwin {

Result<Buffer> Buffer::allocate(size_t bytes, const char* what) {
  return own(bytes == 0 ? nullptr : system::allocate_pages(bytes), bytes, what);
}

Result<Buffer> Buffer::allocate_unset(size_t bytes, const char* what) {
  return own(bytes == 0 ? nullptr : system::allocate_unset_pages(bytes), bytes, what);
}

Result<Buffer> Buffer::own(void* data, size_t bytes, const char* what) {
  Buffer buffer;
  buffer.data_ = static_cast<uint8_t*>(data);
  if (data == nullptr && bytes > 0) {
    return error(Code::out_of_memory, "the system has no %.1f MiB of memory left for %s",
                 static_cast<double>(bytes) / (1024.0 * 1024.0), what);
  }
  buffer.size_ = bytes;
  return buffer;
}

Buffer::~Buffer() {
  if (data_ != nullptr) system::free_pages(data_, size_);
}

}  // namespace bitwin
