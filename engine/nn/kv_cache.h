// The key/value cache: FP16, in blocks of kKvBlock positions that sequences reach through a table.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/base/status.h"
#include "engine/load/config.h"

namespace bitwin {

// One block holds kKvBlock positions of all layers and key/value heads:
// [layer][kv head]{keys [kKvBlock/16][head_dim][16], values [kKvBlock][head_dim]} of FP16.
using KvBlock = std::shared_ptr<Buffer>;

size_t kv_block_bytes(const ModelConfig& config);

// The cached positions of one sequence. Grows block by block; several sequences may share leading blocks.
class KvSequence {
 public:
  KvSequence(const ModelConfig& config, int64_t max_length);

  int64_t length() const { return length_; }
  int64_t max_length() const { return max_length_; }
  size_t bytes() const;

  // Makes room for positions up to `length`. context_full beyond max_length (with both numbers), out_of_memory.
  Status reserve(int64_t length);
  // Marks positions as filled; called by the forward pass.
  void set_length(int64_t length) { length_ = length; }
  // Forgets the positions from `length` on.
  void truncate(int64_t length);

  uint16_t* keys(int64_t block, int64_t layer, int64_t head) const;
  uint16_t* values(int64_t block, int64_t layer, int64_t head) const;
  int64_t blocks() const { return static_cast<int64_t>(blocks_.size()); }

 private:
  int64_t head_dim_, kv_heads_, max_length_, length_ = 0;
  size_t block_bytes_;
  std::vector<KvBlock> blocks_;
};

}  // namespace bitwin
