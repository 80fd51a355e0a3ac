#include "engine/capi.h"

#include <cstring>
#include <string>
#include <vector>

#include "engine/base/hash.h"
#include "engine/run/chat.h"
#include "tests/unit/catch.h"
#include "tests/unit/tiny_engine.h"

using namespace bitwin::testing;
using bitwin::Code;
using bitwin::TokenId;

namespace {

bitwin_model* load(const TinyModelOptions& tiny = {}, int32_t threads = 1) {
  const std::vector<uint8_t> file = make_tiny_model(tiny);
  bitwin_loader* loader = bitwin_loader_new(threads, nullptr, static_cast<double>(file.size()));
  REQUIRE(loader != nullptr);
  REQUIRE(bitwin_loader_feed(loader, file.data(), static_cast<uint32_t>(file.size())) == 0);
  CHECK(bitwin_loader_bytes_needed(loader) <= static_cast<double>(file.size()));
  bitwin_model* model = bitwin_loader_finish(loader);
  REQUIRE(model != nullptr);
  return model;
}

bitwin_generate_options greedy(int32_t max_tokens) { return {0, 0, 1, 0, 0, 0, max_tokens, 1}; }

struct Steps {
  std::vector<TokenId> ids;
  std::string text;
  int32_t finish = 0;
};

Steps take(bitwin_session* session, int most = 1000) {
  Steps steps;
  for (int i = 0; i < most && steps.finish == 0; ++i) {
    bitwin_step_event event;
    REQUIRE(bitwin_session_step(session, &event) == 0);
    if (event.token >= 0) steps.ids.push_back(event.token);
    CHECK(std::strlen(event.text) == event.text_size);
    steps.text.append(event.text, event.text_size);
    steps.finish = event.finish;
  }
  return steps;
}

std::vector<TokenId> rendered(const std::shared_ptr<const bitwin::Model>& model,
                              const std::vector<bitwin::ChatMessage>& messages, bool continuation) {
  auto ids = bitwin::render_chatml(*model->tokenizer(), messages, continuation, false);
  REQUIRE(ids.ok());
  return std::move(ids).value();
}

}  // namespace

TEST_CASE("The C ABI describes a model as JSON") {
  bitwin_model* model = load();
  const std::string info = bitwin_model_info(model);
  CHECK(info.find(R"({"architecture":"qwen2","name":"tiny qwen2 with random weights","layers":2,"width":256,"heads":4,)"
                  R"("kv_heads":2,"context":1024,"vocabulary":323,"parameters":)") == 0);
  CHECK(info.find(R"("threads":1,"temperature":0.600000024,"top_k":0,"top_p":0.949999988,"min_p":0})") !=
        std::string::npos);
  bitwin_model_free(model);
}

TEST_CASE("The C ABI tokenises, and tells how many ids there are when they do not fit") {
  bitwin_model* model = load();
  const auto expected = load_tiny()->tokenizer()->encode("hello world", {});
  REQUIRE(expected.ok());
  std::vector<int32_t> ids(64, -7);
  const int32_t count = bitwin_model_tokenize(model, "hello world", 11, 0, 0, ids.data(), 64);
  REQUIRE(count == static_cast<int32_t>(expected->size()));
  CHECK(std::vector<int32_t>(ids.begin(), ids.begin() + count) == *expected);
  ids.assign(64, -7);
  CHECK(bitwin_model_tokenize(model, "hello world", 11, 0, 0, ids.data(), 2) == count);
  CHECK(ids[1] == (*expected)[1]);
  CHECK(ids[2] == -7);
  const char* special = "<|im_start|>";
  CHECK(bitwin_model_tokenize(model, special, 12, 1, 0, ids.data(), 64) == 1);
  CHECK(ids[0] == kTinyImStart);
  CHECK(bitwin_model_tokenize(model, special, 12, 0, 0, ids.data(), 64) > 1);
  bitwin_model_free(model);
}

TEST_CASE("Raw ids give the answer of the C++ interface") {
  bitwin_model* model = load();
  bitwin_session* session = bitwin_session_new(model, 0, 5);
  REQUIRE(session != nullptr);
  // A session keeps its model.
  bitwin_model_free(model);
  const std::vector<TokenId> prompt = some_ids(12);
  const bitwin_generate_options options = greedy(9);
  REQUIRE(bitwin_session_begin(session, prompt.data(), 12, &options) == 0);
  const Steps steps = take(session);
  const Answer expected = answer_to(*new_session(load_tiny()), prompt, greedy_options(9));
  CHECK(steps.ids == expected.ids);
  CHECK(steps.text == expected.text);
  CHECK(steps.finish == 2);
  CHECK(bitwin_session_length(session) == 20);
  bitwin_timings timings;
  bitwin_session_timings(session, &timings);
  CHECK(timings.prompt_tokens == 12);
  CHECK(timings.generated_tokens == 9);
  bitwin_session_free(session);
}

TEST_CASE("A chat of two turns is the same text in one cache") {
  bitwin_model* model = load();
  bitwin_session* session = bitwin_session_new(model, 0, 0);
  const bitwin_generate_options options = greedy(6);
  REQUIRE(bitwin_session_chat(session, "Be brief.", "Hi", &options) == 0);
  const Steps first = take(session);
  // The system message counts before the first turn only.
  REQUIRE(bitwin_session_chat(session, "Be brief.", "More", &options) == 0);
  const Steps second = take(session);

  const auto oracle = load_tiny();
  std::vector<TokenId> ids = rendered(oracle, {{"system", "Be brief."}, {"user", "Hi"}}, false);
  CHECK(answer_to(*new_session(oracle), ids, greedy_options(6)).ids == first.ids);
  // The first answer in full, its last token too, which had been chosen but not evaluated; then its turn is closed.
  ids.insert(ids.end(), first.ids.begin(), first.ids.end());
  const std::vector<TokenId> more = rendered(oracle, {{"user", "More"}}, true);
  ids.insert(ids.end(), more.begin(), more.end());
  CHECK(bitwin_session_length(session) == ids.size() + 5);
  CHECK(answer_to(*new_session(oracle), ids, greedy_options(6)).ids == second.ids);

  bitwin_session_reset(session);
  CHECK(bitwin_session_length(session) == 0);
  REQUIRE(bitwin_session_chat(session, "Be brief.", "Hi", &options) == 0);
  CHECK(take(session).ids == first.ids);
  bitwin_session_free(session);
  bitwin_model_free(model);
}

TEST_CASE("A turn that ended by its end token is closed once") {
  bitwin_model* model = load();
  bitwin_session* session = bitwin_session_new(model, 0, 0);
  const auto oracle = load_tiny();
  bitwin_generate_options options{1000, 0, 1, 0, 0, 0, 400, 0};
  Steps first;
  for (uint32_t seed = 0; seed < 50 && first.finish != 1; ++seed) {
    bitwin_session_reset(session);
    options.seed_low = seed;
    REQUIRE(bitwin_session_chat(session, nullptr, "Hi", &options) == 0);
    first = take(session);
  }
  REQUIRE(first.finish == 1);
  std::vector<TokenId> ids = rendered(oracle, {{"user", "Hi"}}, false);
  ids.insert(ids.end(), first.ids.begin(), first.ids.end() - 1);
  const std::vector<TokenId> more = rendered(oracle, {{"user", "More"}}, true);
  ids.insert(ids.end(), more.begin(), more.end());
  options = greedy(4);
  REQUIRE(bitwin_session_chat(session, nullptr, "More", &options) == 0);
  CHECK(take(session).ids == answer_to(*new_session(oracle), ids, greedy_options(4)).ids);
  bitwin_session_free(session);
  bitwin_model_free(model);
}

TEST_CASE("A message that was stopped before its first token is taken back") {
  bitwin_model* model = load();
  bitwin_session* session = bitwin_session_new(model, 0, 4);
  const bitwin_generate_options options = greedy(6);
  REQUIRE(bitwin_session_chat(session, nullptr, "Hi", &options) == 0);
  const Steps first = take(session);
  const uint32_t length = bitwin_session_length(session);
  REQUIRE(bitwin_session_chat(session, nullptr, "Never mind", &options) == 0);
  REQUIRE(take(session, 2).ids.empty());
  CHECK(bitwin_session_length(session) > length);
  bitwin_session_stop(session);
  CHECK(take(session).finish == 4);
  CHECK(bitwin_session_length(session) == length);

  REQUIRE(bitwin_session_chat(session, nullptr, "More", &options) == 0);
  const Steps after = take(session);
  bitwin_session_reset(session);
  REQUIRE(bitwin_session_chat(session, nullptr, "Hi", &options) == 0);
  CHECK(take(session).ids == first.ids);
  REQUIRE(bitwin_session_chat(session, nullptr, "More", &options) == 0);
  CHECK(take(session).ids == after.ids);
  bitwin_session_free(session);
  bitwin_model_free(model);
}

TEST_CASE("Failures of the C ABI are a code and a message") {
  const std::string html = "<!DOCTYPE html><html><body>not found</body></html>";
  bitwin_loader* loader = bitwin_loader_new(1, "", 0);
  REQUIRE(loader != nullptr);
  const int32_t code =
      bitwin_loader_feed(loader, reinterpret_cast<const uint8_t*>(html.data()), static_cast<uint32_t>(html.size()));
  CHECK(code == static_cast<int32_t>(Code::format));
  CHECK(bitwin_last_error_code() == code);
  CHECK(std::strlen(bitwin_last_error()) > 0);
  CHECK(bitwin_loader_finish(loader) == nullptr);

  CHECK(bitwin_loader_new(1, "no-such-kernel", 0) == nullptr);
  CHECK(bitwin_last_error_code() == static_cast<int32_t>(Code::unsupported));
  CHECK(std::string(bitwin_last_error()).find("no-such-kernel") != std::string::npos);

  bitwin_model* model = load();
  CHECK(bitwin_last_error_code() == 0);
  CHECK(bitwin_session_new(model, 100000, 0) == nullptr);
  CHECK(bitwin_last_error_code() == static_cast<int32_t>(Code::invalid_argument));
  bitwin_session* session = bitwin_session_new(model, 40, 0);
  const bitwin_generate_options options = greedy(-1);
  CHECK(bitwin_session_chat(session, nullptr, std::string(500, 'x').c_str(), &options) ==
        static_cast<int32_t>(Code::context_full));
  CHECK(bitwin_session_chat(session, nullptr, nullptr, &options) == static_cast<int32_t>(Code::invalid_argument));
  bitwin_step_event event;
  CHECK(bitwin_session_step(session, &event) == static_cast<int32_t>(Code::invalid_argument));
  bitwin_session_free(session);
  CHECK(bitwin_parity(model, nullptr, 0, 3, 0) == nullptr);
  bitwin_model_free(model);
}

TEST_CASE("The parity run of the C ABI is the fingerprint as JSON") {
  bitwin_model* model = load();
  const std::vector<TokenId> prompt = some_ids(11);
  char* whole = bitwin_parity(model, prompt.data(), 11, 3, 0);
  char* chunked = bitwin_parity(model, prompt.data(), 11, 3, 7);
  REQUIRE(whole != nullptr);
  REQUIRE(chunked != nullptr);
  const auto expected = bitwin::fingerprint(load_tiny(), prompt, 3, 0);
  REQUIRE(expected.ok());
  const std::string json = whole;
  CHECK(json.find(R"("chunk":"all","prompt_tokens":11,"ids":[)") != std::string::npos);
  CHECK(json.ends_with("\"fingerprint\":\"" + bitwin::hex64(expected->all) + "\"}"));
  CHECK(std::string(chunked).find(R"("chunk":7,)") != std::string::npos);
  CHECK(json.substr(json.find("\"ids\"")) == std::string(chunked).substr(std::string(chunked).find("\"ids\"")));
  bitwin_free(whole);
  bitwin_free(chunked);
  bitwin_model_free(model);
}

TEST_CASE("The C ABI lists version and kernels") {
  CHECK(std::string(bitwin_version()) == bitwin::version());
  std::string lines;
  for (const std::string& name : bitwin::kernels()) lines += name + "\n";
  CHECK(bitwin_kernels() == lines);
}
