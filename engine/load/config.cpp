#include "engine/load/config.h"

#include <cmath>
#include <string>

#include "engine/load/describe.h"

namespace bitwin {
namespace {

// Far beyond any model; products of any two stay below 2^62.
constexpr uint64_t kMaxSize = uint64_t{1} << 24;
constexpr uint64_t kMaxLayers = 4096;
constexpr uint64_t kMaxContext = uint64_t{1} << 30;

// Features of other models that change the computation: a value other than the neutral one means the model needs it.
struct Feature {
  const char* key;  // after the architecture's name
  const char* meaning;
};
constexpr Feature kUnsupported[] = {
    {".expert_count", "mixture of experts"},
    {".expert_used_count", "mixture of experts"},
    {".attention.sliding_window", "sliding-window attention"},
    {".attention.q_lora_rank", "low-rank queries"},
    {".attention.kv_lora_rank", "low-rank keys and values"},
    {".attention.layer_norm_epsilon", "LayerNorm"},
    {".attention.max_alibi_bias", "ALiBi"},
    {".attention.clamp_kqv", "clamped queries, keys and values"},
    {".attention.scale", "an attention scale of its own"},
    {".attn_logit_softcapping", "soft-capped attention"},
    {".final_logit_softcapping", "soft-capped logits"},
    {".embedding_scale", "scaled embeddings"},
    {".residual_scale", "scaled residuals"},
    {".logit_scale", "scaled logits"},
};

// Reads the keys "<architecture>.<name>" of one file.
class ConfigReader {
 public:
  ConfigReader(const GgufMetadata& metadata, std::string architecture)
      : metadata_(metadata), architecture_(std::move(architecture)) {}

  std::string key(const char* name) const { return architecture_ + name; }
  bool has(const char* name) const { return metadata_.find(key(name)) != nullptr; }

  // A size from 1 to `limit`; `fallback` when absent, 0 for none.
  Result<int64_t> size(const char* name, uint64_t limit, int64_t fallback = 0) const {
    const std::string full = key(name);
    const GgufValue* value = metadata_.find(full);
    if (value == nullptr && fallback != 0) return fallback;
    if (value != nullptr && value->type == GgufType::array) {
      return error(Code::unsupported, "key %s differs by layer, which is not supported", full.c_str());
    }
    BITWIN_ASSIGN_OR_RETURN(const uint64_t number, metadata_.require_unsigned(full));
    if (number == 0 || number > limit) {
      return error(Code::format, "key %s is %s, but should be from 1 to %s", full.c_str(), grouped(number).c_str(),
                   grouped(limit).c_str());
    }
    return static_cast<int64_t>(number);
  }

  // A number in [low, high]: bounds that no real model comes near, and within which binary32 stays finite.
  Result<double> number_in(const char* name, double fallback, double low, double high) const {
    BITWIN_ASSIGN_OR_RETURN(const double number, metadata_.float_or(key(name), fallback));
    if (!(number >= low && number <= high)) {
      return error(Code::format, "key %s is %g, but should be from %g to %g", key(name).c_str(), number, low, high);
    }
    return number;
  }

 private:
  const GgufMetadata& metadata_;
  std::string architecture_;
};

bool is_zero(const GgufValue& value) {
  return value.u == 0 && value.i == 0 && value.f == 0 && value.s.empty() && value.strings.empty() &&
         value.integers.empty() && value.floats.empty();
}

Status check_features(const GgufMetadata& metadata, const ConfigReader& reader) {
  BITWIN_ASSIGN_OR_RETURN(const uint64_t parts, metadata.unsigned_or("split.count", 1));
  if (parts > 1) {
    return error(Code::unsupported, "the file is one of %s parts of a split model: merge them first (key split.count)",
                 grouped(parts).c_str());
  }
  for (const Feature& feature : kUnsupported) {
    const GgufValue* value = metadata.find(reader.key(feature.key));
    if (value == nullptr || is_zero(*value)) continue;
    return error(Code::unsupported, "the model uses %s (key %s), which is not supported", feature.meaning,
                 reader.key(feature.key).c_str());
  }
  BITWIN_ASSIGN_OR_RETURN(const bool causal, metadata.bool_or(reader.key(".attention.causal"), true));
  if (!causal) {
    return error(Code::unsupported, "the model is not causal (key %s), which is not supported",
                 reader.key(".attention.causal").c_str());
  }
  return {};
}

Status read_heads(const ConfigReader& reader, ModelConfig& config) {
  BITWIN_ASSIGN_OR_RETURN(config.heads, reader.size(".attention.head_count", kMaxSize));
  BITWIN_ASSIGN_OR_RETURN(config.kv_heads, reader.size(".attention.head_count_kv", kMaxSize, config.heads));
  if (config.heads % config.kv_heads != 0) {
    return error(Code::format, "%lld heads (key %s) are not a multiple of %lld key/value heads (key %s)",
                 static_cast<long long>(config.heads), reader.key(".attention.head_count").c_str(),
                 static_cast<long long>(config.kv_heads), reader.key(".attention.head_count_kv").c_str());
  }
  if (!reader.has(".attention.key_length") && config.width % config.heads != 0) {
    return error(Code::format, "the width %lld (key %s) is not a multiple of the %lld heads (key %s)",
                 static_cast<long long>(config.width), reader.key(".embedding_length").c_str(),
                 static_cast<long long>(config.heads), reader.key(".attention.head_count").c_str());
  }
  const int64_t even = config.width / config.heads;
  BITWIN_ASSIGN_OR_RETURN(config.head_dim, reader.size(".attention.key_length", kMaxSize, even));
  BITWIN_ASSIGN_OR_RETURN(const int64_t value_dim, reader.size(".attention.value_length", kMaxSize, even));
  if (value_dim != config.head_dim) {
    return error(Code::unsupported,
                 "keys of %lld and values of %lld elements (keys %s, %s): different lengths are not supported",
                 static_cast<long long>(config.head_dim), static_cast<long long>(value_dim),
                 reader.key(".attention.key_length").c_str(), reader.key(".attention.value_length").c_str());
  }
  if (config.head_dim % 16 != 0) {
    return error(Code::unsupported, "heads of %lld elements are not supported: it has to be a multiple of 16",
                 static_cast<long long>(config.head_dim));
  }
  if (config.heads > static_cast<int64_t>(kMaxSize) / config.head_dim) {
    return error(Code::format, "%lld heads of %lld elements are too many", static_cast<long long>(config.heads),
                 static_cast<long long>(config.head_dim));
  }
  return {};
}

Status read_rope(const GgufMetadata& metadata, const ConfigReader& reader, ModelConfig& config) {
  BITWIN_ASSIGN_OR_RETURN(config.rope_dim, reader.size(".rope.dimension_count", kMaxSize, config.head_dim));
  if (config.rope_dim % 2 != 0 || config.rope_dim > config.head_dim) {
    return error(Code::format, "key %s is %lld, but should be even and at most the head's %lld elements",
                 reader.key(".rope.dimension_count").c_str(), static_cast<long long>(config.rope_dim),
                 static_cast<long long>(config.head_dim));
  }
  BITWIN_ASSIGN_OR_RETURN(config.rope_base, reader.number_in(".rope.freq_base", 10000.0, 1.0, 1e12));
  BITWIN_ASSIGN_OR_RETURN(const std::string scaling, metadata.string_or(reader.key(".rope.scaling.type"), ""));
  // Files before rope.scaling.* wrote the factor of linear scaling under this name.
  BITWIN_ASSIGN_OR_RETURN(const double older, reader.number_in(".rope.scale_linear", 1.0, 1e-3, 1e6));
  BITWIN_ASSIGN_OR_RETURN(const double factor, reader.number_in(".rope.scaling.factor", older, 1e-3, 1e6));
  if (scaling == "none" || factor == 1.0) return {};
  if (!scaling.empty() && scaling != "linear") {
    return error(Code::unsupported, "RoPE scaling \"%s\" (key %s) is not supported (supported: none, linear)",
                 shown(scaling).c_str(), reader.key(".rope.scaling.type").c_str());
  }
  config.rope_scale = factor;
  return {};
}

const TensorInfo* find_tensor(std::span<const TensorInfo> tensors, std::string_view name) {
  for (const TensorInfo& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

Status read_vocabulary(const GgufMetadata& metadata, const ConfigReader& reader, std::span<const TensorInfo> tensors,
                       ModelConfig& config) {
  const GgufValue* tokens = metadata.find("tokenizer.ggml.tokens");
  const TensorInfo* table = find_tensor(tensors, "token_embd.weight");
  config.tied = find_tensor(tensors, "output.weight") == nullptr;
  if (table != nullptr) {
    if (table->dimensions != 2 || table->cols() != config.width || table->dims[1] > kMaxSize) {
      return error(Code::format,
                   "tensor token_embd.weight has the shape %s x %s x %s x %s, but should be %lld x vocabulary",
                   grouped(table->dims[0]).c_str(), grouped(table->dims[1]).c_str(), grouped(table->dims[2]).c_str(),
                   grouped(table->dims[3]).c_str(), static_cast<long long>(config.width));
    }
    config.vocabulary = table->rows();
  } else if (!tensors.empty()) {
    return error(Code::format, "tensor token_embd.weight is missing");
  } else if (tokens != nullptr && !tokens->strings.empty()) {
    config.vocabulary = static_cast<int64_t>(tokens->strings.size());
  } else {
    BITWIN_ASSIGN_OR_RETURN(config.vocabulary, reader.size(".vocab_size", kMaxSize));
  }
  if (tokens != nullptr && tokens->strings.size() > static_cast<size_t>(config.vocabulary)) {
    return error(Code::format, "key tokenizer.ggml.tokens has %s tokens, but tensor token_embd.weight only %lld rows",
                 grouped(tokens->strings.size()).c_str(), static_cast<long long>(config.vocabulary));
  }
  return {};
}

}  // namespace

Result<ModelConfig> read_config(const GgufMetadata& metadata, std::span<const TensorInfo> tensors) {
  ModelConfig config;
  BITWIN_ASSIGN_OR_RETURN(config.architecture_name, metadata.require_string("general.architecture"));
  BITWIN_ASSIGN_OR_RETURN(config.name, metadata.string_or("general.name", ""));
  if (config.architecture_name == "qwen2") {
    config.architecture = Architecture::qwen2;
  } else if (config.architecture_name == "llama") {
    config.architecture = Architecture::llama;
    config.rope_adjacent = true;
  } else {
    return error(Code::unsupported, "architecture %s is not supported (supported: qwen2, llama)",
                 shown(config.architecture_name).c_str());
  }
  const ConfigReader reader(metadata, config.architecture_name);
  BITWIN_RETURN_IF_ERROR(check_features(metadata, reader));
  BITWIN_ASSIGN_OR_RETURN(config.context, reader.size(".context_length", kMaxContext));
  BITWIN_ASSIGN_OR_RETURN(config.layers, reader.size(".block_count", kMaxLayers));
  BITWIN_ASSIGN_OR_RETURN(config.width, reader.size(".embedding_length", kMaxSize));
  BITWIN_ASSIGN_OR_RETURN(config.ffn, reader.size(".feed_forward_length", kMaxSize));
  BITWIN_RETURN_IF_ERROR(read_heads(reader, config));
  BITWIN_RETURN_IF_ERROR(read_rope(metadata, reader, config));
  BITWIN_ASSIGN_OR_RETURN(const double epsilon,
                          reader.number_in(".attention.layer_norm_rms_epsilon", 1e-5, 1e-30, 1.0));
  config.norm_epsilon = static_cast<float>(epsilon);
  BITWIN_RETURN_IF_ERROR(read_vocabulary(metadata, reader, tensors, config));
  return config;
}

}  // namespace bitwin
