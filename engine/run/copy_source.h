// Where packed copies of weights (docs/formats.md) come from and go to.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace bitwin {

// What a packed copy of a model's weights was made from; a copy counts only for exactly the same.
struct CopySource {
  uint64_t file_bytes = 0;   // of the GGUF file
  int64_t modified = 0;      // its modification time, in any unit
  uint64_t content_hash = 0;  // of its first Loader::header_bytes() bytes and of samples of the rest
};
// Reads bytes of a copy from `offset` on; false when they are not to be had. Called from several threads at once; must
// not throw.
using ReadCopy = std::function<bool(uint64_t offset, std::span<uint8_t> bytes)>;
// Appends to a copy; false ends the writing.
using WriteCopy = std::function<bool(std::span<const uint8_t> bytes)>;

}  // namespace bitwin
