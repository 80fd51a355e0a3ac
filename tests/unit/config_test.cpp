#include "engine/load/config.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/gguf_collector.h"
#include "tests/support/tiny_model.h"
#include "tests/unit/catch.h"

namespace bitwin {
namespace {

using testing::TinyModelOptions;

// The metadata and directory of a tiny model, to be changed before they are read.
struct File {
  explicit File(const TinyModelOptions& options) {
    testing::GgufCollector sink;
    const std::vector<uint8_t> bytes = testing::make_tiny_model(options);
    REQUIRE(testing::read_gguf(bytes, sink).ok());
    metadata.mutable_entries() = sink.entries;
    tensors = sink.directory;
  }

  GgufValue& value(const std::string& key) {
    for (GgufMetadata::Entry& entry : metadata.mutable_entries()) {
      if (entry.key == key) return entry.value;
    }
    metadata.mutable_entries().push_back({key, {}});
    return metadata.mutable_entries().back().value;
  }
  File& set(const std::string& key, uint64_t number) {
    value(key) = {};
    value(key).type = GgufType::u32;
    value(key).u = number;
    return *this;
  }
  File& set_float(const std::string& key, double number) {
    value(key) = {};
    value(key).type = GgufType::f32;
    value(key).f = number;
    return *this;
  }
  File& set_text(const std::string& key, const std::string& text) {
    value(key) = {};
    value(key).type = GgufType::string;
    value(key).s = text;
    return *this;
  }
  File& remove(const std::string& key) {
    std::erase_if(metadata.mutable_entries(), [&](const auto& entry) { return entry.key == key; });
    return *this;
  }
  Result<ModelConfig> read() const { return read_config(metadata, tensors); }
  std::string format_error() const {
    const Status status = read().status();
    CHECK(status.code() == Code::format);
    return status.message();
  }
  std::string unsupported_error() const {
    const Status status = read().status();
    CHECK(status.code() == Code::unsupported);
    return status.message();
  }

  GgufMetadata metadata;
  std::vector<TensorInfo> tensors;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("The hyper-parameters of a qwen2 file are read") {
  const Result<ModelConfig> config = File(TinyModelOptions()).read();
  REQUIRE(config.ok());
  CHECK(config->architecture == Architecture::qwen2);
  CHECK(config->architecture_name == "qwen2");
  CHECK(config->name == "tiny qwen2 with random weights");
  CHECK(config->vocabulary == testing::kTinyVocabulary);
  CHECK(config->context == 1024);
  CHECK(config->layers == 2);
  CHECK(config->width == 256);
  CHECK(config->ffn == 512);
  CHECK(config->heads == 4);
  CHECK(config->kv_heads == 2);
  CHECK(config->head_dim == 64);
  CHECK(config->q_width() == 256);
  CHECK(config->kv_width() == 128);
  CHECK(config->rope_dim == 64);
  CHECK(config->rope_base == 10000.0);
  CHECK(config->rope_scale == 1.0);
  CHECK_FALSE(config->rope_adjacent);
  CHECK(config->norm_epsilon == 1e-6f);
  CHECK(config->tied);
}

TEST_CASE("llama files rotate adjacent pairs, qwen2 files halves") {
  TinyModelOptions options;
  options.architecture = "llama";
  options.tied = false;
  const Result<ModelConfig> config = File(options).read();
  REQUIRE(config.ok());
  CHECK(config->architecture == Architecture::llama);
  CHECK(config->rope_adjacent);
  CHECK_FALSE(config->tied);
}

TEST_CASE("Absent keys have the defaults of the format") {
  File file{TinyModelOptions()};
  for (const char* key : {"head_count_kv", "key_length", "value_length", "layer_norm_rms_epsilon"}) {
    file.remove(std::string("qwen2.attention.") + key);
  }
  file.remove("qwen2.rope.freq_base").remove("qwen2.rope.dimension_count").remove("general.name");
  const Result<ModelConfig> config = file.read();
  REQUIRE(config.ok());
  CHECK(config->kv_heads == 4);
  CHECK(config->head_dim == 64);
  CHECK(config->rope_dim == 64);
  CHECK(config->rope_base == 10000.0);
  CHECK(config->norm_epsilon == 1e-5f);
  CHECK(config->name.empty());
}

TEST_CASE("A head may be longer than its share of the width, and rotated in part") {
  TinyModelOptions options;
  options.head_dim = 128;
  File file(options);
  file.set("qwen2.rope.dimension_count", 32);
  const Result<ModelConfig> config = file.read();
  REQUIRE(config.ok());
  CHECK(config->head_dim == 128);
  CHECK(config->q_width() == 512);
  CHECK(config->rope_dim == 32);
}

TEST_CASE("The vocabulary's size is that of the embedding table, else of the token list, else of the key") {
  File file{TinyModelOptions()};
  file.tensors[0].dims[1] = 400;
  CHECK(file.read()->vocabulary == 400);
  file.tensors.clear();
  CHECK(file.read()->vocabulary == testing::kTinyVocabulary);
  file.remove("tokenizer.ggml.tokens").set("qwen2.vocab_size", 77);
  CHECK(file.read()->vocabulary == 77);
  file.remove("qwen2.vocab_size");
  CHECK(file.format_error() == "key qwen2.vocab_size is missing");
}

TEST_CASE("Linear RoPE scaling is read, other forms are not supported unless they change nothing") {
  File file{TinyModelOptions()};
  file.set_text("qwen2.rope.scaling.type", "linear").set_float("qwen2.rope.scaling.factor", 4);
  CHECK(file.read()->rope_scale == 4.0);
  file.set_text("qwen2.rope.scaling.type", "none");
  CHECK(file.read()->rope_scale == 1.0);
  file.set_text("qwen2.rope.scaling.type", "yarn");
  CHECK(file.unsupported_error() ==
        "RoPE scaling \"yarn\" (key qwen2.rope.scaling.type) is not supported (supported: none, linear)");
  file.set_float("qwen2.rope.scaling.factor", 1);
  CHECK(file.read()->rope_scale == 1.0);
  file.remove("qwen2.rope.scaling.factor").remove("qwen2.rope.scaling.type").set_float("qwen2.rope.scale_linear", 2);
  CHECK(file.read()->rope_scale == 2.0);
}

TEST_CASE("Missing sizes are errors that name the key") {
  for (const char* key : {"qwen2.block_count", "qwen2.context_length", "qwen2.embedding_length",
                          "qwen2.feed_forward_length", "qwen2.attention.head_count", "general.architecture"}) {
    File file{TinyModelOptions()};
    CHECK(file.remove(key).format_error() == std::string("key ") + key + " is missing");
  }
}

TEST_CASE("Sizes that are zero, huge or of another type are errors that name the key") {
  for (const char* key : {"qwen2.block_count", "qwen2.context_length", "qwen2.embedding_length",
                          "qwen2.feed_forward_length", "qwen2.attention.head_count", "qwen2.attention.head_count_kv",
                          "qwen2.attention.key_length", "qwen2.attention.value_length", "qwen2.rope.dimension_count"}) {
    CAPTURE(key);
    File file{TinyModelOptions()};
    CHECK(contains(file.set(key, 0).format_error(), std::string("key ") + key + " is 0, but should be from 1 to "));
    CHECK(contains(file.set(key, ~uint64_t{0}).format_error(),
                   std::string("key ") + key + " is 18,446,744,073,709,551,615, but should be from 1 to "));
    CHECK(file.set_float(key, 4).format_error() == std::string("key ") + key + " is f32, but should be an integer");
    file.value(key).type = GgufType::array;
    CHECK(file.unsupported_error() == std::string("key ") + key + " differs by layer, which is not supported");
  }
}

TEST_CASE("Numbers that must be positive are") {
  for (const char* key :
       {"qwen2.rope.freq_base", "qwen2.attention.layer_norm_rms_epsilon", "qwen2.rope.scaling.factor"}) {
    for (double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      File file{TinyModelOptions()};
      CHECK(contains(file.set_float(key, bad).format_error(), std::string("key ") + key + " is "));
    }
  }
}

TEST_CASE("Heads that do not fit together are errors") {
  const auto file = [] { return File(TinyModelOptions()); };
  CHECK(file().set("qwen2.attention.head_count_kv", 3).format_error() ==
        "4 heads (key qwen2.attention.head_count) are not a multiple of 3 key/value heads (key "
        "qwen2.attention.head_count_kv)");
  CHECK(contains(file().set("qwen2.attention.value_length", 32).unsupported_error(),
                 "keys of 64 and values of 32 elements"));
  CHECK(
      contains(file().set("qwen2.attention.key_length", 40).set("qwen2.attention.value_length", 40).unsupported_error(),
               "heads of 40 elements are not supported: it has to be a multiple of 16"));
  CHECK(contains(file().set("qwen2.rope.dimension_count", 63).format_error(), "qwen2.rope.dimension_count is 63"));
  CHECK(contains(file().set("qwen2.rope.dimension_count", 66).format_error(), "at most the head's 64 elements"));
  CHECK(contains(file()
                     .remove("qwen2.attention.key_length")
                     .set("qwen2.attention.head_count", 6)
                     .set("qwen2.attention.head_count_kv", 6)
                     .format_error(),
                 "the width 256 (key qwen2.embedding_length) is not a multiple of the 6 heads"));
  CHECK(contains(file()
                     .set("qwen2.attention.head_count", 1 << 22)
                     .set("qwen2.attention.key_length", 1 << 20)
                     .set("qwen2.attention.value_length", 1 << 20)
                     .format_error(),
                 "4194304 heads of 1048576 elements are too many"));
}

TEST_CASE("Features that change the computation are not supported and are named") {
  const auto file = [] { return File(TinyModelOptions()); };
  CHECK(file().set("qwen2.expert_count", 8).unsupported_error() ==
        "the model uses mixture of experts (key qwen2.expert_count), which is not supported");
  CHECK(contains(file().set("qwen2.attention.sliding_window", 4096).unsupported_error(), "sliding-window attention"));
  CHECK(contains(file().set_float("qwen2.final_logit_softcapping", 30).unsupported_error(), "soft-capped logits"));
  CHECK(contains(file().set("split.count", 3).unsupported_error(), "one of 3 parts of a split model"));
  CHECK(file().set("qwen2.expert_count", 0).set("split.count", 1).read().ok());
  File bidirectional = file();
  bidirectional.value("qwen2.attention.causal").type = GgufType::boolean;
  CHECK(contains(bidirectional.unsupported_error(), "not causal"));
}

TEST_CASE("An embedding table of another shape is an error with both shapes") {
  File file{TinyModelOptions()};
  file.set("qwen2.embedding_length", 128).remove("qwen2.attention.key_length").remove("qwen2.attention.value_length");
  file.set("qwen2.rope.dimension_count", 32);
  CHECK(file.format_error() ==
        "tensor token_embd.weight has the shape 256 x 323 x 1 x 1, but should be 128 x vocabulary");
  File fewer{TinyModelOptions()};
  fewer.tensors[0].dims[1] = 300;
  CHECK(fewer.format_error() == "key tokenizer.ggml.tokens has 323 tokens, but tensor token_embd.weight only 300 rows");
  File none{TinyModelOptions()};
  none.tensors.erase(none.tensors.begin());
  CHECK(none.format_error() == "tensor token_embd.weight is missing");
}

}  // namespace
}  // namespace bitwin
