#include "engine/nn/weights.h"

#include "engine/kernels/registry.h"
#include "tests/unit/catch.h"

namespace bitwin {
namespace {

TensorInfo tensor(const std::string& name, TensorType type, int64_t cols, int64_t rows) {
  TensorInfo info;
  info.name = name;
  info.type = type;
  info.dims[0] = static_cast<uint64_t>(cols);
  info.dims[1] = static_cast<uint64_t>(rows);
  return info;
}

ModelConfig config_of(int64_t vocabulary) {
  ModelConfig config;
  config.architecture_name = "llama";
  config.vocabulary = vocabulary;
  config.width = 64;
  config.layers = 1;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 32;
  config.rope_dim = 32;
  config.ffn = 96;
  config.tied = true;
  return config;
}

std::vector<TensorInfo> tensors_of(const ModelConfig& c, TensorType type) {
  const std::string layer = "blk.0.";
  return {tensor("token_embd.weight", type, c.width, c.vocabulary),
          tensor("output_norm.weight", TensorType::f32, c.width, 1),
          tensor(layer + "attn_norm.weight", TensorType::f32, c.width, 1),
          tensor(layer + "attn_q.weight", type, c.width, c.q_width()),
          tensor(layer + "attn_k.weight", type, c.width, c.kv_width()),
          tensor(layer + "attn_v.weight", type, c.width, c.kv_width()),
          tensor(layer + "attn_output.weight", type, c.q_width(), c.width),
          tensor(layer + "ffn_norm.weight", TensorType::f32, c.width, 1),
          tensor(layer + "ffn_gate.weight", type, c.width, c.ffn),
          tensor(layer + "ffn_up.weight", type, c.width, c.ffn),
          tensor(layer + "ffn_down.weight", type, c.ffn, c.width)};
}

TEST_CASE("the memory for all matrices is taken when the header is known, in one block") {
  for (const TensorType type : {TensorType::f32, TensorType::q8_0, TensorType::q4_1}) {
    const ModelConfig config = config_of(33);
    const std::vector<TensorInfo> tensors = tensors_of(config, type);
    WeightsBuilder builder(*supported_kernels().front(), nullptr);
    REQUIRE(builder.plan(config, tensors).ok());
    uint64_t expected = 0;
    for (const TensorInfo& one : tensors)
      if (one.rows() > 1) expected += packed_bytes(type, one.rows(), one.cols());
    const Weights& weights = builder.weights();
    CHECK(weights.bytes() == expected);
    const LayerWeights& layer = weights.layers[0];
    const uint8_t* const begin = weights.storage.data();
    for (const PackedMatrix* matrix :
         {&weights.embedding, &layer.q, &layer.k, &layer.v, &layer.output, &layer.gate, &layer.up, &layer.down}) {
      const uint8_t* const data = matrix->view().data;
      CHECK(data >= begin);
      CHECK(data + matrix->bytes() <= begin + weights.bytes());
      CHECK(reinterpret_cast<uintptr_t>(data) % 64 == 0);
    }
  }
}

TEST_CASE("a model too large for any memory is refused when its header is known") {
  ModelConfig config = config_of(int64_t{1} << 31);
  config.width = int64_t{1} << 20;  // 2^53 bytes in the embedding table
  WeightsBuilder builder(*supported_kernels().front(), nullptr);
  const Status status = builder.plan(config, tensors_of(config, TensorType::f32));
  CHECK(status.code() == Code::out_of_memory);
  CHECK_FALSE(status.message().empty());
}

}  // namespace
}  // namespace bitwin
