// Large memory that may be refused: allocation fails as a Status, never as an exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/base/status.h"

namespace bitwin {

// An owned, zero-initialised block of bytes, 64-byte aligned; large ones ask for huge pages.
class Buffer {
 public:
  // Allocates `bytes` (0 is allowed and gives an empty buffer). `what` names the purpose in the
  // out_of_memory error, e.g. "the weights of blk.3.ffn_up.weight".
  static Result<Buffer> allocate(size_t bytes, const char* what);
  // The same, but for the zeroes: what it holds is undefined.
  static Result<Buffer> allocate_unset(size_t bytes, const char* what);

  Buffer() = default;
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

  // The same bytes as elements of T; T must be trivial and need no more than 64-byte alignment.
  template <class T>
  T* as() { return reinterpret_cast<T*>(data_); }
  template <class T>
  const T* as() const { return reinterpret_cast<const T*>(data_); }

 private:
  static Result<Buffer> own(void* data, size_t bytes, const char* what);
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace bitwin
