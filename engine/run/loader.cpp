#include <cinttypes>
#include <cmath>

#include "engine/base/system.h"
#include "engine/engine.h"
#include "engine/kernels/registry.h"
#include "engine/load/gguf.h"
#include "engine/nn/kv_cache.h"
#include "engine/run/guard.h"
#include "engine/run/model_state.h"
#include "engine/run/packed_copy.h"

namespace bitwin {
namespace {

// A token id of the file, -1 when it names none. Tokenizer::create checks it against the vocabulary.
Result<int64_t> token_id(const GgufMetadata& metadata, const char* key) {
  if (metadata.find(key) == nullptr) return int64_t{-1};
  BITWIN_ASSIGN_OR_RETURN(const uint64_t id, metadata.require_unsigned(key));
  if (id > INT32_MAX) return error(Code::format, "key %s is %" PRIu64 ", which is no token id", key, id);
  return static_cast<int64_t>(id);
}

// An array, moved out of the metadata: the engine keeps no second copy of a vocabulary.
template <class T>
Status take_array(GgufMetadata& metadata, const char* key, std::vector<T> GgufValue::*member, const char* what,
                  bool required, std::vector<T>* out) {
  for (GgufMetadata::Entry& entry : metadata.mutable_entries()) {
    if (entry.key != key) continue;
    std::vector<T>& array = entry.value.*member;
    if (entry.value.type != GgufType::array || (array.empty() && required)) {
      return error(Code::format, "key %s should be an array of %s", key, what);
    }
    *out = std::move(array);
    return {};
  }
  if (required) return error(Code::format, "key %s is missing", key);
  return {};
}

Result<VocabularySource> read_vocabulary(GgufMetadata& metadata) {
  VocabularySource source;
  BITWIN_ASSIGN_OR_RETURN(source.model, metadata.require_string("tokenizer.ggml.model"));
  BITWIN_ASSIGN_OR_RETURN(source.pre, metadata.string_or("tokenizer.ggml.pre", ""));
  BITWIN_RETURN_IF_ERROR(
      take_array(metadata, "tokenizer.ggml.tokens", &GgufValue::strings, "strings", true, &source.tokens));
  BITWIN_RETURN_IF_ERROR(
      take_array(metadata, "tokenizer.ggml.token_type", &GgufValue::integers, "integers", false, &source.kinds));
  BITWIN_RETURN_IF_ERROR(
      take_array(metadata, "tokenizer.ggml.merges", &GgufValue::strings, "strings", false, &source.merges));
  BITWIN_ASSIGN_OR_RETURN(source.bos, token_id(metadata, "tokenizer.ggml.bos_token_id"));
  BITWIN_ASSIGN_OR_RETURN(source.eos, token_id(metadata, "tokenizer.ggml.eos_token_id"));
  BITWIN_ASSIGN_OR_RETURN(source.eot, token_id(metadata, "tokenizer.ggml.eot_token_id"));
  BITWIN_ASSIGN_OR_RETURN(source.pad, token_id(metadata, "tokenizer.ggml.padding_token_id"));
  BITWIN_ASSIGN_OR_RETURN(source.add_bos, metadata.bool_or("tokenizer.ggml.add_bos_token", false));
  return source;
}

// general.sampling.<name> as a number; false when the file has none.
Result<bool> sampling_number(const GgufMetadata& metadata, const char* key, double* number) {
  const GgufValue* value = metadata.find(key);
  if (value == nullptr) return false;
  switch (value->type) {
    case GgufType::f32:
    case GgufType::f64:
      *number = value->f;
      break;
    case GgufType::i8:
    case GgufType::i16:
    case GgufType::i32:
    case GgufType::i64:
      *number = static_cast<double>(value->i);
      break;
    case GgufType::u8:
    case GgufType::u16:
    case GgufType::u32:
    case GgufType::u64:
      *number = static_cast<double>(value->u);
      break;
    default:
      return error(Code::format, "key %s should be a number", key);
  }
  if (!std::isfinite(*number) || std::fabs(*number) > 1e6) {
    return error(Code::format, "key %s is %g, which is out of range", key, *number);
  }
  return true;
}

// The sampling that the file recommends; `named` tells whether it recommends any.
Status read_sampling(const GgufMetadata& metadata, SamplingOptions* sampling, bool* named) {
  double number = 0;
  const auto read_float = [&](const char* key, float* option) -> Status {
    BITWIN_ASSIGN_OR_RETURN(const bool found, sampling_number(metadata, key, &number));
    if (found) *option = static_cast<float>(number);
    *named = *named || found;
    return {};
  };
  BITWIN_RETURN_IF_ERROR(read_float("general.sampling.temp", &sampling->temperature));
  BITWIN_RETURN_IF_ERROR(read_float("general.sampling.top_p", &sampling->top_p));
  BITWIN_RETURN_IF_ERROR(read_float("general.sampling.min_p", &sampling->min_p));
  BITWIN_ASSIGN_OR_RETURN(const bool found, sampling_number(metadata, "general.sampling.top_k", &number));
  // -1 is another way to write "all".
  if (found) sampling->top_k = number < 0 ? 0 : static_cast<int32_t>(number);
  *named = *named || found;
  const Status checked = check(*sampling);
  if (!checked.ok()) return error(Code::format, "the file's general.sampling keys: %s", checked.message().c_str());
  return {};
}

void count_tensors(std::span<const TensorInfo> tensors, ModelInfo* info) {
  for (const TensorInfo& tensor : tensors) {
    info->parameters += static_cast<uint64_t>(tensor.rows()) * static_cast<uint64_t>(tensor.cols());
    const char* name = tensor_type_info(tensor.type)->name;
    auto count = info->types.begin();
    while (count != info->types.end() && count->type != name) ++count;
    if (count == info->types.end()) count = info->types.insert(count, {name, 0, 0});
    ++count->tensors;
    count->bytes += tensor.bytes;
  }
}

}  // namespace

struct Loader::State final : GgufSink {
  State(const LoadOptions& load_options, const KernelTable* load_kernel, std::unique_ptr<ThreadPool> load_pool)
      : options(load_options),
        kernel(load_kernel),
        pool(std::move(load_pool)),
        builder(*kernel, pool.get()),
        reader(*this, load_options.file_size) {
    info.threads = pool->threads();
  }

  Status on_header(GgufMetadata& metadata, std::span<const TensorInfo> tensors) override {
    BITWIN_ASSIGN_OR_RETURN(info.config, read_config(metadata, tensors));
    BITWIN_RETURN_IF_ERROR(read_sampling(metadata, &info.sampling, &info.file_sampling));
    BITWIN_ASSIGN_OR_RETURN(info.chat_template, metadata.string_or("tokenizer.chat_template", ""));
    count_tensors(tensors, &info);
    info.kv_bytes_per_token = kv_block_bytes(info.config) / kKvBlock;
    info.has_weights = !tensors.empty() && !options.vocabulary_only;
    BITWIN_ASSIGN_OR_RETURN(VocabularySource vocabulary, read_vocabulary(metadata));
    BITWIN_ASSIGN_OR_RETURN(tokenizer, Tokenizer::create(std::move(vocabulary)));
    if (info.has_weights) BITWIN_RETURN_IF_ERROR(builder.plan(info.config, tensors));
    return {};
  }

  Status on_rows(const TensorInfo& tensor, int64_t first_row, int64_t rows, std::span<const uint8_t> bytes) override {
    return info.has_weights ? builder.add_rows(tensor, first_row, rows, bytes) : Status();
  }

  Status on_tensor_end(const TensorInfo&) override { return {}; }

  Status restore(const CopySource& source, uint64_t bytes, const ReadCopy& read) {
    BITWIN_RETURN_IF_ERROR(status);
    if (!reader.header_complete() || !info.has_weights)
      return error(Code::invalid_argument, "a packed copy is read after the header of a file with weights");
    status = guarded([&] { return read_packed_copy(source, bytes, read, *pool, builder.weights()); });
    restored = status.ok();
    return status;
  }

  bool header_is_enough() const { return options.vocabulary_only && reader.header_complete() && status.ok(); }

  Status feed(std::span<const uint8_t> bytes) {
    if (!status.ok() || header_is_enough()) return status;
    const system::FloatEnvironment environment;
    return status = guarded([&] { return reader.feed(bytes); });
  }

  Result<std::shared_ptr<const Model>> finish() {
    BITWIN_RETURN_IF_ERROR(status);
    if (!header_is_enough() && !restored) BITWIN_RETURN_IF_ERROR(reader.finish());
    std::unique_ptr<ModelState> model;
    info.file_bytes = reader.bytes_needed();
    info.kernel = kernel->name;
    if (info.has_weights) {
      model = std::make_unique<ModelState>();
      model->config = info.config;
      model->pool = std::move(pool);
      model->kernel = kernel;
      BITWIN_ASSIGN_OR_RETURN(model->weights, builder.finish());
      BITWIN_ASSIGN_OR_RETURN(model->forward, Forward::create(model->config, model->weights, *kernel, *model->pool));
      info.packed_bytes = model->weights.bytes();
    }
    return std::shared_ptr<const Model>(
        std::make_shared<Model>(std::move(info), std::move(tokenizer), std::move(model)));
  }

  LoadOptions options;
  const KernelTable* kernel;
  std::unique_ptr<ThreadPool> pool;
  ModelInfo info;
  std::shared_ptr<const Tokenizer> tokenizer;
  WeightsBuilder builder;
  GgufReader reader;
  Status status;          // the first failure
  bool restored = false;  // the weights have come from a packed copy
};

Loader::Loader() = default;
Loader::~Loader() = default;

Result<std::unique_ptr<Loader>> Loader::create(const LoadOptions& options) {
  return guarded([&]() -> Result<std::unique_ptr<Loader>> {
    std::unique_ptr<Loader> loader(new Loader());
    Result<const KernelTable*> selected = select_kernel(options.kernel);
    // A vocabulary needs none, so that a wrong BITWIN_KERNEL does not matter.
    if (!selected.ok() && !options.vocabulary_only) return selected.status();
    const KernelTable* kernel = selected.ok() ? *selected : supported_kernels().front();
    BITWIN_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool, ThreadPool::create(options.threads));
    loader->state_ = std::make_unique<State>(options, kernel, std::move(pool));
    return loader;
  });
}

Status Loader::feed(std::span<const uint8_t> bytes) { return state_->feed(bytes); }

uint64_t Loader::bytes_fed() const { return state_->reader.bytes_fed(); }
uint64_t Loader::bytes_needed() const { return state_->reader.bytes_needed(); }

uint64_t Loader::header_bytes() const { return state_->reader.header_bytes(); }

Status Loader::restore(const CopySource& source, uint64_t bytes, const ReadCopy& read) {
  return state_->restore(source, bytes, read);
}

Status write_copy(const Model& model, const CopySource& source, const WriteCopy& write) {
  ModelState* const state = model.state();
  if (state == nullptr) return error(Code::unsupported, "a model without weights has no packed copy");
  return guarded([&] {
    const std::lock_guard<std::mutex> lock(state->forward_mutex);
    return write_packed_copy(source, state->weights, *state->pool, write);
  });
}

bool Loader::complete() const {
  const State& state = *state_;
  if (!state.status.ok() || !state.reader.header_complete()) return false;
  return state.options.vocabulary_only || state.restored || state.reader.bytes_fed() >= state.reader.bytes_needed();
}

Result<std::shared_ptr<const Model>> Loader::finish() {
  State& state = *state_;
  Result<std::shared_ptr<const Model>> model = guarded([&] { return state.finish(); });
  state.status = model.ok() ? Status(Code::invalid_argument, "the loader has handed over its model") : model.status();
  return model;
}

}  // namespace bitwin
