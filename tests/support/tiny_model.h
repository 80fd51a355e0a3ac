// Tiny language models with random weights: a complete GGUF file in memory that every layer of the engine can run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/tensor_type.h"

namespace bitwin::testing {

// The defaults are small but leave nothing out: grouped-query attention, q/k/v biases, a vocabulary that is not a
// multiple of 16, and all eleven tensor types over the matrices.
struct TinyModelOptions {
  std::string architecture = "qwen2";        // or "llama"
  std::optional<TensorType> type;            // of every matrix; none: another type for each role and layer
  std::optional<TensorType> embedding_type;  // of the embedding table (and the output matrix); none: `type`, else Q8_0
  bool tied = true;                          // no output matrix of its own
  bool biases = true;                        // of q, k and v
  bool rope_factors = false;                 // a rope_freqs.weight tensor, as Llama 3 has
  int64_t layers = 2;
  int64_t width = 256;  // a multiple of the types' blocks, as are heads * head_dim and ffn
  int64_t heads = 4;
  int64_t kv_heads = 2;
  int64_t head_dim = 64;
  int64_t ffn = 512;
  int64_t context = 1024;
  double rope_base = 10000.0;
  uint64_t seed = 1;
  bool vocabulary_only = false;  // metadata without any tensor
  bool lowest_int8 = false;      // Q8_0 blocks may hold -128, which quantisers do not write but the format allows
};

// The ids of the vocabulary: 256 bytes in the order of GPT-2's alphabet, then merged tokens, then control tokens.
inline constexpr int32_t kTinyEndOfText = 317;  // <|endoftext|>
inline constexpr int32_t kTinyImStart = 318;    // <|im_start|>
inline constexpr int32_t kTinyImEnd = 319;      // <|im_end|>, the EOS
inline constexpr int32_t kTinyVocabulary = 323;

// The eleven types, in the order of their numbers.
const std::vector<TensorType>& all_tensor_types();

// The same bytes for the same options, in every build. Weights have zero mean and a standard deviation of
// 1/sqrt(row length), so that logits spread and greedy answers vary; no scale is subnormal.
std::vector<uint8_t> make_tiny_model(const TinyModelOptions& options);

// Rows of valid blocks with random scales and integers, every integer value as likely as any other.
// `cols` is a multiple of the type's block; the values' standard deviation is about `deviation`.
std::vector<uint8_t> random_rows(TensorType type, int64_t rows, int64_t cols, double deviation, uint64_t seed,
                                 bool lowest_int8 = false);

}  // namespace bitwin::testing
