// Scratch memory of the forward pass and its parallel steps over the kernel table.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/base/status.h"
#include "engine/base/thread_pool.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/packed.h"
#include "engine/load/config.h"
#include "engine/nn/forward.h"
#include "engine/nn/profile.h"
#include "engine/nn/rope.h"

namespace bitwin {

// One matrix of a step that shares its input with others: out (+)= weights * input (+ bias).
struct Product {
  const PackedMatrix* weights;
  const std::vector<float>* bias;  // null or empty: none
  float* out;                      // [rows][weights->rows()]
  bool accumulate;
};

// All arrays are row-major, one row per BatchRow.
class Workspace {
 public:
  static Result<Workspace> create(const ModelConfig& config, const KernelTable& kernel, ThreadPool& pool,
                                  int64_t max_rows);

  float* hidden() { return hidden_; }      // [rows][width], the residual stream
  float* normed() { return normed_; }      // [rows][width]
  float* q() { return q_; }                // [rows][q_width]
  float* k() { return k_; }                // [rows][kv_width]
  float* v() { return v_; }                // [rows][kv_width]
  float* attended() { return attended_; }  // [rows][q_width]
  float* gate() { return gate_; }          // [rows][ffn]
  float* up() { return up_; }              // [rows][ffn]

  // Room for attention over up to `positions`.
  Status reserve_attention(int64_t positions);

  // hidden = the embedding rows of the tokens.
  void embed(std::span<const BatchRow> rows, const PackedMatrix& embedding);
  // normed[i] = RMSNorm(source[i]) for i < rows.
  void normalize(const float* source, int64_t rows, const std::vector<float>& weight, float epsilon);
  // Products of all rows of `input`, [rows][columns], in one step. False when the input holds NaN or infinity.
  // `operation` says what they are, for the profile.
  bool multiply(const float* input, int64_t rows, int64_t columns, std::span<const Product> products,
                Operation operation);
  // Rotates q and k and writes k and v into the caches.
  void rotate_and_store(std::span<const BatchRow> rows, int64_t layer, const RopeTable& rope);
  // attended = attention of q over the caches.
  void attend(std::span<const BatchRow> rows, int64_t layer);
  // gate = silu(gate) * up.
  void activate(int64_t rows);

  // From now on the time of each step is added to the profile; null: no clock is read.
  void set_profile(Profile* profile) { profile_ = profile; }

  size_t bytes() const { return floats_.size() + quantized_.size() + scores_.size(); }

 private:
  bool quantize(const float* input, int64_t rows, int64_t columns);

  const ModelConfig* config_ = nullptr;
  const KernelTable* kernel_ = nullptr;
  ThreadPool* pool_ = nullptr;
  Profile* profile_ = nullptr;
  Buffer floats_, quantized_, scores_;
  float *hidden_ = nullptr, *normed_ = nullptr, *q_ = nullptr, *k_ = nullptr, *v_ = nullptr, *attended_ = nullptr,
        *gate_ = nullptr, *up_ = nullptr;
  int8_t* quants_ = nullptr;
  float* scales_ = nullptr;
  float* offsets_ = nullptr;
  int32_t* sums_ = nullptr;
  int64_t max_groups_ = 0;
  int64_t attention_positions_ = 0;
  std::vector<std::vector<const uint16_t*>> tables_;  // per worker: key blocks, then value blocks
};

}  // namespace bitwin
