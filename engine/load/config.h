// The hyper-parameters of a model, read from GGUF metadata and checked.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/base/status.h"
#include "engine/load/gguf.h"

namespace bitwin {

enum class Architecture { qwen2, llama };

struct ModelConfig {
  Architecture architecture = Architecture::llama;
  std::string architecture_name;  // as in the file
  std::string name;               // general.name, may be empty
  int64_t vocabulary = 0;         // rows of the embedding table
  int64_t context = 0;            // trained context length, tokens
  int64_t layers = 0;
  int64_t width = 0;              // hidden size
  int64_t ffn = 0;                // feed-forward size
  int64_t heads = 0;              // query heads
  int64_t kv_heads = 0;           // key/value heads; heads is a multiple of it
  int64_t head_dim = 0;           // a multiple of 16
  int64_t rope_dim = 0;           // rotated leading dimensions of a head; even, <= head_dim
  double rope_base = 10000.0;
  double rope_scale = 1.0;        // linear position scaling: positions are divided by it
  bool rope_adjacent = false;     // true: pairs (2i, 2i+1) (llama files); false: pairs (i, i + rope_dim/2)
  float norm_epsilon = 1e-5f;
  bool tied = false;              // the output matrix is the embedding table

  int64_t q_width() const { return heads * head_dim; }
  int64_t kv_width() const { return kv_heads * head_dim; }
};

// Reads and checks the hyper-parameters. `tensors` may be empty (a file with a vocabulary only: then
// vocabulary comes from the metadata). Errors: unsupported for another architecture or a feature the
// engine does not have (names it), format for values that are missing, zero, or inconsistent.
Result<ModelConfig> read_config(const GgufMetadata& metadata, std::span<const TensorInfo> tensors);

}  // namespace bitwin
