#include "engine/nn/kv_cache.h"

#include "engine/kernels/kernel.h"

namespace bitwin {
namespace {

size_t head_bytes(int64_t head_dim) { return static_cast<size_t>(2 * kKvBlock * head_dim) * sizeof(uint16_t); }

}  // namespace

size_t kv_block_bytes(const ModelConfig& config) {
  return static_cast<size_t>(config.layers * config.kv_heads) * head_bytes(config.head_dim);
}

KvSequence::KvSequence(const ModelConfig& config, int64_t max_length)
    : head_dim_(config.head_dim),
      kv_heads_(config.kv_heads),
      max_length_(max_length),
      block_bytes_(kv_block_bytes(config)) {}

size_t KvSequence::bytes() const { return blocks_.size() * block_bytes_; }

Status KvSequence::reserve(int64_t length) {
  if (length > max_length_)
    return error(Code::context_full, "the context is full: %lld tokens are needed, %lld is the maximum",
                 static_cast<long long>(length), static_cast<long long>(max_length_));
  while (blocks() * kKvBlock < length) {
    BITWIN_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(block_bytes_, "the KV cache"));
    blocks_.push_back(std::make_shared<Buffer>(std::move(buffer)));
  }
  return Status();
}

void KvSequence::truncate(int64_t length) {
  if (length >= length_) return;
  length_ = length;
  blocks_.resize(static_cast<size_t>((length + kKvBlock - 1) / kKvBlock));
}

uint16_t* KvSequence::keys(int64_t block, int64_t layer, int64_t head) const {
  const size_t index = static_cast<size_t>(layer * kv_heads_ + head);
  return reinterpret_cast<uint16_t*>(blocks_[static_cast<size_t>(block)]->data() + index * head_bytes(head_dim_));
}

uint16_t* KvSequence::values(int64_t block, int64_t layer, int64_t head) const {
  return keys(block, layer, head) + kKvBlock * head_dim_;
}

}  // namespace bitwin
