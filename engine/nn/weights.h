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
  PackedMatrix embedding;           // [vocabulary][width]
  PackedMatrix head;                // [vocabulary][width]; empty when tied
  std::vector<float> output_norm;   // [width]
  std::vector<float> rope_factors;  // [rope_dim / 2] divisors of the frequencies; empty when none
  std::vector<LayerWeights> layers;

  const PackedMatrix& output_matrix() const { return head.empty() ? embedding : head; }
  uint64_t bytes() const;  // of the packed matrices
};

// Takes rows from the GGUF reader and packs them into place.
class WeightsBuilder {
 public:
  // Checks that the directory has every tensor the architecture needs, each with the right shape (format error
  // naming the tensor and both shapes), and plans where each goes. Unknown tensors are an `unsupported` error.
  Status plan(const ModelConfig& config, std::span<const TensorInfo> tensors);
  Status add_rows(const TensorInfo& tensor, int64_t first_row, int64_t rows, std::span<const uint8_t> bytes);
  // All tensors have arrived: hands over the weights.
  Result<Weights> finish();

 private:
  struct Slot {
    PackedMatrix* matrix = nullptr;
    std::vector<float>* vector = nullptr;
  };
  Weights weights_;
  std::unordered_map<std::string, Slot> slots_;
};

}  // namespace bitwin
