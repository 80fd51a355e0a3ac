#include "engine/engine.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/system.h"
#include "tests/support/gguf_writer.h"
#include "tests/unit/catch.h"
#include "tests/unit/tiny_engine.h"

using namespace bitwin;
using namespace bitwin::testing;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A file with a vocabulary of three tokens and no tensors; `change` adds keys or, for a key named in `without`,
// replaces it.
std::vector<uint8_t> vocabulary_file(const std::function<void(GgufWriter&)>& change = {},
                                     const std::string& without = "") {
  GgufWriter writer;
  const auto wanted = [&](const char* key) { return without != key; };
  writer.add_string("general.architecture", "llama");
  for (const auto& [key, value] : {std::pair("llama.context_length", 128), std::pair("llama.embedding_length", 64),
                                   std::pair("llama.block_count", 1), std::pair("llama.feed_forward_length", 64),
                                   std::pair("llama.attention.head_count", 2)}) {
    writer.add_u32(key, static_cast<uint32_t>(value));
  }
  writer.add_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  if (wanted("tokenizer.ggml.model")) writer.add_string("tokenizer.ggml.model", "gpt2");
  writer.add_string("tokenizer.ggml.pre", "gpt-2");
  if (wanted("tokenizer.ggml.tokens")) writer.add_strings("tokenizer.ggml.tokens", {"a", "b", "ab"});
  writer.add_strings("tokenizer.ggml.merges", {"a b"});
  if (change) change(writer);
  return writer.finish();
}

ModelInfo info_of(const std::vector<uint8_t>& file) {
  const auto model = load_bytes(file, {});
  INFO(model.status().message());
  REQUIRE(model.ok());
  return (*model)->info();
}

std::string failure_of(const std::vector<uint8_t>& file) {
  const auto model = load_bytes(file, {});
  REQUIRE_FALSE(model.ok());
  CHECK(model.status().code() == Code::format);
  return model.status().message();
}

}  // namespace

TEST_CASE("The version and the kernels have names") {
  CHECK(std::string(version()).find('.') != std::string::npos);
  REQUIRE_FALSE(kernels().empty());
  CHECK(std::string(finish_reason_name(FinishReason::end_of_text)) == "end_of_text");
}

TEST_CASE("A model fed byte by byte is the model fed at once") {
  TinyModelOptions tiny;
  tiny.layers = 1;
  const std::vector<uint8_t> file = make_tiny_model(tiny);
  LoadOptions options;
  options.threads = 1;
  const auto whole = load_bytes(file, options);
  REQUIRE(whole.ok());
  const auto expected = fingerprint(*whole, some_ids(9), 3, 0);
  REQUIRE(expected.ok());
  for (const uint64_t file_size : {uint64_t{0}, static_cast<uint64_t>(file.size())}) {
    for (const size_t piece : {size_t{1}, size_t{97}, size_t{65536}}) {
      options.file_size = file_size;
      const auto model = load_bytes(file, options, piece);
      REQUIRE(model.ok());
      const auto run = fingerprint(*model, some_ids(9), 3, 0);
      REQUIRE(run.ok());
      CHECK(run->all == expected->all);
      CHECK(run->ids == expected->ids);
    }
  }
}

TEST_CASE("The loader tells how far it is") {
  const std::vector<uint8_t> file = make_tiny_model({});
  auto loader = Loader::create({});
  REQUIRE(loader.ok());
  CHECK((*loader)->bytes_needed() == 0);
  CHECK_FALSE((*loader)->complete());
  REQUIRE((*loader)->feed(std::span(file).first(10)).ok());
  CHECK((*loader)->bytes_fed() == 10);
  CHECK_FALSE((*loader)->complete());
  REQUIRE((*loader)->feed(std::span(file).subspan(10)).ok());
  CHECK((*loader)->bytes_fed() == file.size());
  CHECK((*loader)->bytes_needed() <= file.size());
  CHECK((*loader)->complete());
  CHECK((*loader)->finish().ok());
  CHECK((*loader)->finish().status().code() == Code::invalid_argument);
  CHECK((*loader)->feed({}).code() == Code::invalid_argument);
}

TEST_CASE("A model's info says what the file holds and what runs it") {
  TinyModelOptions tiny;
  tiny.type = TensorType::q4_k;
  tiny.embedding_type = TensorType::q8_0;
  const auto model = load_tiny(tiny, 2, kernels().back());
  const ModelInfo& info = model->info();
  CHECK(info.has_weights);
  CHECK(info.config.architecture_name == "qwen2");
  CHECK(info.config.vocabulary == kTinyVocabulary);
  CHECK(info.kernel == kernels().back());
  CHECK(info.threads == (system::threads_available() ? 2 : 1));
  const std::vector<uint8_t> file = make_tiny_model(tiny);
  CHECK(info.file_bytes <= file.size());
  CHECK(info.file_bytes > file.size() - 64);
  uint64_t bytes = 0;
  int64_t matrices = 0;
  for (const ModelInfo::TypeCount& type : info.types) {
    bytes += type.bytes;
    if (type.type == "Q4_K") matrices = type.tensors;
  }
  CHECK(matrices == 2 * 7);
  CHECK(bytes < file.size());
  CHECK(info.packed_bytes > 0);
  // Keys and values of two layers and two heads of 64, two bytes each.
  CHECK(info.kv_bytes_per_token == 2 * 2 * 2 * 64 * 2);
  CHECK_FALSE(info.file_sampling);
  CHECK(info.sampling.temperature == 0.6f);
  CHECK(info.sampling.top_p == 0.95f);
  const int64_t width = 256, q = 256, kv = 128, ffn = 512;
  const int64_t layer = width * (q + 2 * kv) + (q + 2 * kv) + q * width + 3 * width * ffn + 2 * width;
  CHECK(info.parameters == static_cast<uint64_t>(2 * layer + kTinyVocabulary * width + width));
}

TEST_CASE("A truncated file is an error, however it is fed") {
  const std::vector<uint8_t> file = make_tiny_model({});
  for (int percent = 0; percent < 100; percent += 3) {
    const auto part = std::span(file).first(file.size() * static_cast<size_t>(percent) / 100);
    const auto model = load_bytes(part, {});
    CHECK_FALSE(model.ok());
    CHECK_FALSE(model.status().message().empty());
  }
}

TEST_CASE("After an error the loader repeats it") {
  auto loader = Loader::create({});
  REQUIRE(loader.ok());
  const std::string html = "<!DOCTYPE html><html><body>not found</body></html>";
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(html.data()), html.size());
  const Status first = (*loader)->feed(bytes);
  REQUIRE(first.code() == Code::format);
  const Status second = (*loader)->feed(make_tiny_model({}));
  CHECK(second.code() == first.code());
  CHECK(second.message() == first.message());
  CHECK_FALSE((*loader)->complete());
  CHECK((*loader)->finish().status().message() == first.message());
}

TEST_CASE("The vocabulary alone can be loaded from the front of a file") {
  const std::vector<uint8_t> file = make_tiny_model({});
  LoadOptions options;
  options.vocabulary_only = true;
  auto loader = Loader::create(options);
  REQUIRE(loader.ok());
  size_t fed = 0;
  while (!(*loader)->complete()) {
    REQUIRE(fed < file.size());
    REQUIRE((*loader)->feed(std::span(file).subspan(fed, 1)).ok());
    ++fed;
  }
  CHECK(fed < file.size() / 2);
  CHECK((*loader)->feed(std::span(file).subspan(fed)).ok());
  auto model = (*loader)->finish();
  REQUIRE(model.ok());
  CHECK_FALSE((*model)->info().has_weights);
  CHECK((*model)->tokenizer()->size() == kTinyVocabulary);
  CHECK((*model)->info().packed_bytes == 0);

  loader = Loader::create(options);
  REQUIRE(loader.ok());
  REQUIRE((*loader)->feed(std::span(file).first(fed - 1)).ok());
  CHECK_FALSE((*loader)->finish().ok());
}

TEST_CASE("A file without tensors has a vocabulary but nothing to run") {
  TinyModelOptions tiny;
  tiny.vocabulary_only = true;
  const auto model = load_tiny(tiny);
  CHECK_FALSE(model->info().has_weights);
  CHECK(model->info().config.vocabulary == kTinyVocabulary);
  CHECK(model->tokenizer()->encode("hello", {}).ok());
  const auto session = Session::create(model, {});
  REQUIRE_FALSE(session.ok());
  CHECK(session.status().code() == Code::unsupported);
  CHECK(contains(session.status().message(), "no weights"));
  CHECK(fingerprint(model, some_ids(3), 1, 0).status().code() == Code::unsupported);
}

TEST_CASE("A kernel that is not here, or too many threads, is refused before a byte is read") {
  LoadOptions options;
  options.kernel = "no-such-kernel";
  auto loader = Loader::create(options);
  REQUIRE_FALSE(loader.ok());
  CHECK(loader.status().code() == Code::unsupported);
  CHECK(contains(loader.status().message(), "no-such-kernel"));
  options.kernel = "";
  options.threads = 1000;
  CHECK(Loader::create(options).status().code() == Code::invalid_argument);
}

TEST_CASE("A file's own sampling is taken as the default") {
  const ModelInfo info = info_of(vocabulary_file([](GgufWriter& writer) {
    writer.add_f32("general.sampling.temp", 0.25f);
    writer.add_signed("general.sampling.top_k", GgufType::i32, 20);
    writer.add_f32("general.sampling.top_p", 0.5f);
    writer.add_f64("general.sampling.min_p", 0.125);
  }));
  CHECK(info.file_sampling);
  CHECK(info.sampling.temperature == 0.25f);
  CHECK(info.sampling.top_k == 20);
  CHECK(info.sampling.top_p == 0.5f);
  CHECK(info.sampling.min_p == 0.125f);

  const ModelInfo some = info_of(vocabulary_file([](GgufWriter& writer) {
    writer.add_u32("general.sampling.temp", 1);
    writer.add_signed("general.sampling.top_k", GgufType::i32, -1);
  }));
  CHECK(some.file_sampling);
  CHECK(some.sampling.temperature == 1.0f);
  CHECK(some.sampling.top_k == 0);
  CHECK(some.sampling.top_p == 0.95f);
}

TEST_CASE("Sampling defaults out of range are named") {
  CHECK(contains(failure_of(vocabulary_file([](GgufWriter& w) { w.add_f32("general.sampling.temp", -1); })),
                 "temperature"));
  CHECK(contains(failure_of(vocabulary_file([](GgufWriter& w) { w.add_f32("general.sampling.top_p", 3); })), "top-p"));
  CHECK(contains(failure_of(vocabulary_file([](GgufWriter& w) { w.add_u32("general.sampling.top_k", 4000000000); })),
                 "general.sampling.top_k"));
  CHECK(contains(failure_of(vocabulary_file([](GgufWriter& w) { w.add_string("general.sampling.min_p", "x"); })),
                 "general.sampling.min_p"));
}

TEST_CASE("What is wrong with a vocabulary is named") {
  CHECK(info_of(vocabulary_file()).config.vocabulary == 3);
  CHECK(contains(failure_of(vocabulary_file({}, "tokenizer.ggml.model")), "tokenizer.ggml.model"));
  CHECK(contains(
      failure_of(vocabulary_file([](GgufWriter& w) { w.add_u32("llama.vocab_size", 3); }, "tokenizer.ggml.tokens")),
      "tokenizer.ggml.tokens"));
  CHECK(contains(failure_of(vocabulary_file([](GgufWriter& w) { w.add_u32("tokenizer.ggml.bos_token_id", 3); })),
                 "bos_token_id"));
  CHECK(contains(
      failure_of(vocabulary_file([](GgufWriter& w) { w.add_u32("tokenizer.ggml.eos_token_id", 4294967295u); })),
      "eos_token_id"));
  CHECK(contains(failure_of(vocabulary_file([](GgufWriter& w) { w.add_u32("tokenizer.ggml.add_bos_token", 1); })),
                 "add_bos_token"));
  CHECK(contains(failure_of(vocabulary_file([](GgufWriter& w) { w.add_string("tokenizer.ggml.token_type", "x"); })),
                 "token_type"));
}

TEST_CASE("BOS is what the file names, and absent otherwise") {
  const auto bos_of = [](const std::vector<uint8_t>& file) {
    const auto model = load_bytes(file, {});
    REQUIRE(model.ok());
    return std::pair((*model)->tokenizer()->bos(), (*model)->tokenizer()->add_bos());
  };
  CHECK(bos_of(vocabulary_file()) == std::pair(-1, false));
  CHECK(bos_of(vocabulary_file([](GgufWriter& w) { w.add_u32("tokenizer.ggml.bos_token_id", 2); })) ==
        std::pair(2, false));
  CHECK(bos_of(vocabulary_file([](GgufWriter& w) {
          w.add_u32("tokenizer.ggml.bos_token_id", 2);
          w.add_bool("tokenizer.ggml.add_bos_token", true);
        })) == std::pair(2, true));
}

TEST_CASE("The chat template is handed on as it is") {
  CHECK(info_of(vocabulary_file()).chat_template.empty());
  CHECK(info_of(vocabulary_file([](GgufWriter& w) {
          w.add_string("tokenizer.chat_template", "{{ x }}");
        })).chat_template == "{{ x }}");
}
