// The packed weights of a model, filled tensor by tensor while a file arrives.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/status.h"
#include "engine/kernels/packed.h"
#include "engine/load/config.h"
#include "engine/load/gguf.h"

namespace bitwin {

struct LayerWeights {
  std::vector<float> attention_norm;          // [width]
  PackedMatrix q, k, v;                       // [q_width | kv_width | kv_width][width]
  std::vector<float> q_bias, k_bias, v_bias;  // empty when the file has none
  PackedMatrix output;                        // [width][q_width]
  std::vector<float> output_bias;             // empty when the file has none
  std::vector<float> ffn_norm;                // [width]
  PackedMatrix gate, up;                      // [ffn][width]
  PackedMatrix down;                          // [width][ffn]
};

struct Weights {
  Buffer storage;                   // holds the packed matrices, one after another
  PackedMatrix embedding;           // [vocabulary][width]
  PackedMatrix head;                // [vocabulary][width]; empty when tied
  std::vector<float> output_norm;   // [width]
  std::vector<float> rope_factors;  // [rope_dim / 2] divisors of the frequencies; empty when none
  std::vector<LayerWeights> layers;

  // The floats of all vectors, in the order above.
  size_t vector_bytes() const;
  std::vector<uint8_t> vectors() const;
  // Sets them. format error when they cannot have come from vectors() of a model with the same shapes.
  Status set_vectors(std::span<const uint8_t> bytes);

  const PackedMatrix& output_matrix() const { return head.empty() ? embedding : head; }
  uint64_t bytes() const { return storage.size(); }  // of the packed matrices
};

// Takes rows from the GGUF reader and packs them into place.
class WeightsBuilder {
 public:
  // Packs with `kernel` on the threads of `pool` (null: on the caller's); both outlive the builder.
  WeightsBuilder(const KernelTable& kernel, ThreadPool* pool) : kernel_(&kernel), pool_(pool) {}

  // Checks that the directory has every tensor the architecture needs, each with the right shape (format error
  // naming the tensor and both shapes), plans where each goes and takes the memory for all of them. Unknown tensors are
  // an `unsupported` error.
  Status plan(const ModelConfig& config, std::span<const TensorInfo> tensors);
  Status add_rows(const TensorInfo& tensor, int64_t first_row, int64_t rows, std::span<const uint8_t> bytes);
  // What plan() has made room for.
  Weights& weights() { return weights_; }
  // All tensors have arrived: hands over the weights.
  Result<Weights> finish();

 private:
  struct Slot {
    PackedMatrix* matrix = nullptr;
    std::vector<float>* vector = nullptr;
  };
  Status allocate(std::span<const TensorInfo> tensors);

  const KernelTable* kernel_;
  ThreadPool* pool_;
  Weights weights_;
  std::unordered_map<std::string, Slot> slots_;
};

}  // namespace bitwin
