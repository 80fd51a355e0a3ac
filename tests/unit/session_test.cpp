#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/hash.h"
#include "engine/base/system.h"
#include "engine/engine.h"
#include "tests/unit/catch.h"
#include "tests/unit/tiny_engine.h"

using namespace bitwin;
using namespace bitwin::testing;

namespace {

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

Fingerprint fingerprint_of(const std::shared_ptr<const Model>& model, std::span<const TokenId> prompt, int64_t steps,
                           int64_t chunk) {
  auto result = fingerprint(model, prompt, steps, chunk);
  INFO(result.status().message());
  REQUIRE(result.ok());
  return std::move(result).value();
}

}  // namespace

TEST_CASE("A fingerprint does not depend on the prompt's chunks, the threads or the kernel") {
  const std::vector<TokenId> prompt = some_ids(37);
  Fingerprint first;
  for (const std::string& kernel : kernels()) {
    for (const int threads : {1, 2, 3}) {
      const auto model = load_tiny({}, threads, kernel);
      REQUIRE(model->info().kernel == kernel);
      for (const int64_t chunk : {0, 1, 5, 7, 64}) {
        CAPTURE(kernel, threads, chunk);
        const Fingerprint run = fingerprint_of(model, prompt, 6, chunk);
        if (first.ids.empty()) first = run;
        CHECK(run.ids == first.ids);
        CHECK(run.steps == first.steps);
        CHECK(run.all == first.all);
      }
    }
  }
  CHECK(first.steps.size() == 6);
  CHECK(first.all == hash64(first.steps.data(), first.steps.size() * sizeof(uint64_t)));
}

TEST_CASE("A fingerprint of a prompt longer than one pass does not depend on its chunks") {
  const auto model = load_tiny({}, 2);
  const std::vector<TokenId> prompt = some_ids(300);
  const Fingerprint whole = fingerprint_of(model, prompt, 3, 0);
  for (const int64_t chunk : {1, 77, 128}) CHECK(fingerprint_of(model, prompt, 3, chunk).all == whole.all);
  std::vector<TokenId> other = prompt;
  other[0] ^= 1;
  CHECK(fingerprint_of(model, other, 3, 0).all != whole.all);
}

TEST_CASE("The fingerprint's steps are the greedy answer and the hashes of its logits") {
  const auto model = load_tiny();
  const std::vector<TokenId> prompt = some_ids(20);
  const Fingerprint run = fingerprint_of(model, prompt, 5, 3);
  const auto session = new_session(model);
  REQUIRE(session->begin(prompt, greedy_options(5)).ok());
  std::vector<TokenId> ids;
  std::vector<uint64_t> steps;
  while (!session->done()) {
    const auto event = session->step();
    REQUIRE(event.ok());
    if (event->token < 0) continue;
    ids.push_back(event->token);
    steps.push_back(hash64(session->logits().data(), session->logits().size_bytes()));
  }
  CHECK(ids == run.ids);
  CHECK(steps == run.steps);
}

TEST_CASE("A reused prefix gives the logits of a fresh session") {
  const auto model = load_tiny();
  const std::vector<TokenId> ids = some_ids(90);
  const size_t vocabulary = static_cast<size_t>(model->info().config.vocabulary);
  std::vector<float> fresh(vocabulary), reused(vocabulary);
  const auto first = new_session(model);
  REQUIRE(first->evaluate(ids, false, fresh.data()).ok());

  const auto second = new_session(model);
  std::vector<TokenId> longer = ids;
  longer.resize(150, 7);
  REQUIRE(second->evaluate(longer, false, reused.data()).ok());
  CHECK_FALSE(same_bits(fresh, reused));
  second->truncate(50);
  CHECK(second->length() == 50);
  REQUIRE(second->evaluate(std::span(ids).subspan(50), false, reused.data()).ok());
  CHECK(same_bits(fresh, reused));

  second->reset();
  CHECK(second->length() == 0);
  REQUIRE(second->evaluate(ids, false, reused.data()).ok());
  CHECK(same_bits(fresh, reused));
}

TEST_CASE("Evaluating with all logits gives each position's own") {
  const auto model = load_tiny();
  const std::vector<TokenId> ids = some_ids(150);
  const size_t vocabulary = static_cast<size_t>(model->info().config.vocabulary);
  std::vector<float> all(ids.size() * vocabulary), one(vocabulary);
  REQUIRE(new_session(model)->evaluate(ids, true, all.data()).ok());
  for (const size_t position : {0, 1, 63, 64, 127, 128, 149}) {
    REQUIRE(new_session(model)->evaluate(std::span(ids).first(position + 1), false, one.data()).ok());
    CHECK(same_bits(std::span(all).subspan(position * vocabulary, vocabulary), one));
  }
}

TEST_CASE("Steps report the prompt's progress, then one token each") {
  const auto model = load_tiny();
  SessionOptions options;
  options.chunk = 8;
  const auto session = new_session(model, options);
  REQUIRE(session->begin(some_ids(20), greedy_options(3)).ok());
  CHECK(session->logits().empty());
  std::vector<int64_t> done;
  std::vector<bool> tokens;
  while (!session->done()) {
    const auto event = session->step();
    REQUIRE(event.ok());
    CHECK(event->prompt_total == 20);
    done.push_back(event->prompt_done);
    tokens.push_back(event->token >= 0);
  }
  CHECK(done == std::vector<int64_t>{8, 16, 20, 20, 20, 20});
  CHECK(tokens == std::vector<bool>{false, false, false, true, true, true});
  // The last token has been chosen, not evaluated.
  CHECK(session->length() == 22);
  CHECK_FALSE(session->last_token_cached());
  CHECK(session->timings().prompt_tokens == 20);
  CHECK(session->timings().generated_tokens == 3);
  CHECK(session->timings().first_token > 0);
  CHECK(session->timings().later_tokens > 0);
}

TEST_CASE("The text of an answer is its tokens' text, in whole characters") {
  const auto model = load_tiny();
  const auto session = new_session(model);
  GenerateOptions options = greedy_options(60);
  const Answer answer = answer_to(*session, some_ids(10), options);
  Detokenizer detokenizer(model->tokenizer());
  std::string text;
  for (const TokenId id : answer.ids) text += detokenizer.push(id);
  text += detokenizer.finish();
  CHECK(answer.ids.size() == 60);
  CHECK(answer.text == text);
}

TEST_CASE("A seed repeats an answer, and the greedy answer needs none") {
  const auto model = load_tiny();
  GenerateOptions options = greedy_options(40);
  options.sampling.temperature = 1.5f;
  options.sampling.seed = 4;
  const std::vector<TokenId> prompt = some_ids(10);
  const Answer first = answer_to(*new_session(model), prompt, options);
  CHECK(answer_to(*new_session(model), prompt, options).ids == first.ids);
  options.sampling.seed = 5;
  CHECK(answer_to(*new_session(model), prompt, options).ids != first.ids);
}

TEST_CASE("An answer ends at the maximum of tokens") {
  const auto model = load_tiny();
  for (const int64_t most : {0, 1, 2, 17}) {
    const auto session = new_session(model);
    const Answer answer = answer_to(*session, some_ids(5), greedy_options(most));
    CHECK(answer.ids.size() == static_cast<size_t>(most));
    CHECK(answer.finish == FinishReason::max_tokens);
    CHECK(session->last_token_cached() == (most == 0));
  }
}

TEST_CASE("An answer ends where the context is full") {
  const auto model = load_tiny();
  SessionOptions options;
  options.max_context = 30;
  for (const size_t prompt : {10, 29, 30}) {
    const auto session = new_session(model, options);
    const Answer answer = answer_to(*session, some_ids(prompt), greedy_options(-1));
    CHECK(answer.finish == FinishReason::context_full);
    CHECK(session->length() == 30);
    // The last one is chosen from the last position and finds no place any more.
    CHECK(answer.ids.size() == 30 - prompt + 1);
  }
}

TEST_CASE("A prompt that does not fit is refused with the numbers") {
  const auto model = load_tiny();
  SessionOptions options;
  options.max_context = 30;
  const auto session = new_session(model, options);
  REQUIRE(answer_to(*session, some_ids(10), greedy_options(1)).ids.size() == 1);
  const Status status = session->begin(some_ids(21), greedy_options(1));
  CHECK(status.code() == Code::context_full);
  CHECK(status.message().find("21") != std::string::npos);
  CHECK(status.message().find("30") != std::string::npos);
  CHECK(status.message().find("10") != std::string::npos);
  CHECK(session->length() == 10);
  CHECK(session->done());
  CHECK(session->begin(some_ids(20), greedy_options(1)).ok());
}

TEST_CASE("The end token ends an answer unless it is to be ignored") {
  const auto model = load_tiny();
  GenerateOptions options = greedy_options(-1);
  options.ignore_end = false;
  options.sampling.temperature = 1000;  // all tokens about as likely: an end token comes soon
  options.sampling.top_p = 1;
  options.sampling.seed = 3;
  const auto session = new_session(model);
  const Answer answer = answer_to(*session, some_ids(4), options);
  REQUIRE(answer.finish == FinishReason::end_of_text);
  CHECK(model->tokenizer()->ends_generation(answer.ids.back()));
  CHECK_FALSE(session->last_token_cached());
  CHECK(session->length() == 4 + static_cast<int64_t>(answer.ids.size()) - 1);
  for (size_t i = 0; i + 1 < answer.ids.size(); ++i) CHECK_FALSE(model->tokenizer()->ends_generation(answer.ids[i]));
  CHECK(answer.text.find("<|") == std::string::npos);

  options.special = true;
  const Answer special = answer_to(*new_session(model), some_ids(4), options);
  CHECK(special.ids == answer.ids);
  CHECK(special.text.ends_with(model->tokenizer()->bytes(answer.ids.back(), true)));

  options.ignore_end = true;
  options.max_tokens = static_cast<int64_t>(answer.ids.size()) + 5;
  CHECK(answer_to(*new_session(model), some_ids(4), options).ids.size() == answer.ids.size() + 5);
}

TEST_CASE("stop ends an answer in the prompt and between tokens") {
  const auto model = load_tiny();
  SessionOptions session_options;
  session_options.chunk = 4;
  const auto session = new_session(model, session_options);
  REQUIRE(session->begin(some_ids(12), greedy_options(-1)).ok());
  REQUIRE(session->step().ok());
  session->stop();
  auto event = session->step();
  REQUIRE(event.ok());
  CHECK(event->finish == FinishReason::stopped);
  CHECK(event->prompt_done == 4);
  CHECK(session->done());
  CHECK(session->length() == 4);
  CHECK(session->last_token_cached());

  session->reset();
  REQUIRE(session->begin(some_ids(4), greedy_options(-1)).ok());
  for (int i = 0; i < 4; ++i) REQUIRE(session->step().ok());
  session->stop();
  event = session->step();
  REQUIRE(event.ok());
  CHECK(event->finish == FinishReason::stopped);
  CHECK(event->token == -1);
  CHECK(session->length() == 6);
  CHECK_FALSE(session->last_token_cached());

  // begin() forgets the request to stop.
  session->reset();
  CHECK(answer_to(*session, some_ids(4), greedy_options(3)).ids.size() == 3);
}

TEST_CASE("stop from another thread ends the pass in progress and leaves the cache as it was") {
  if (!system::threads_available()) return;
  TinyModelOptions slow;
  slow.layers = 8;
  slow.context = 4096;
  const auto model = load_tiny(slow);
  SessionOptions session_options;
  session_options.chunk = 128;
  const auto session = new_session(model, session_options);
  REQUIRE(session->begin(some_ids(4000), greedy_options(1)).ok());
  std::atomic<bool> first_step{false};
  std::thread stopper([&] {
    while (!first_step) std::this_thread::yield();
    session->stop();
  });
  Answer answer;
  while (!session->done()) {
    const auto event = session->step();
    first_step = true;
    if (!event.ok()) break;
    answer.finish = event->finish;
  }
  stopper.join();
  CHECK(answer.finish == FinishReason::stopped);
  CHECK(session->length() % 128 == 0);
  CHECK(session->length() < 4000);
}

TEST_CASE("Held-back bytes come out as replacement characters when an answer ends inside a character") {
  const auto model = load_tiny();
  // The first byte of a character of two, as the only token that can be drawn.
  const std::vector<TokenId> lead = *model->tokenizer()->encode("\xc3", {});
  REQUIRE(lead.size() == 1);
  bool met = false;
  for (uint64_t seed = 0; seed < 2000 && !met; ++seed) {
    GenerateOptions options = greedy_options(1);
    options.sampling.temperature = 1000;
    options.sampling.top_p = 1;
    options.sampling.seed = seed;
    const auto session = new_session(model);
    const Answer answer = answer_to(*session, some_ids(1), options);
    if (answer.ids[0] != lead[0]) continue;
    met = true;
    CHECK(answer.text == "\xef\xbf\xbd");
  }
  CHECK(met);
}

TEST_CASE("A session goes on with what its cache holds") {
  const auto model = load_tiny();
  const std::vector<TokenId> ids = some_ids(60);
  const auto parts = new_session(model);
  const Answer first = answer_to(*parts, std::span(ids).first(20), greedy_options(3));
  parts->truncate(20);
  const Answer second = answer_to(*parts, std::span(ids).subspan(20), greedy_options(5));
  const Answer whole = answer_to(*new_session(model), ids, greedy_options(5));
  CHECK(second.ids == whole.ids);
}

TEST_CASE("Sessions share a model, also from several threads") {
  const auto model = load_tiny({}, 2);
  const Answer expected_a = answer_to(*new_session(model), some_ids(30, 1), greedy_options(20));
  const Answer expected_b = answer_to(*new_session(model), some_ids(33, 2), greedy_options(20));
  const auto a = new_session(model), b = new_session(model);
  if (system::threads_available()) {
    // Catch2's assertions belong to one thread.
    std::vector<TokenId> ids_a, ids_b;
    const auto drive = [](Session& session, uint32_t seed, std::vector<TokenId>& ids) {
      if (!session.begin(some_ids(29 + seed, seed), greedy_options(20)).ok()) return;
      while (!session.done()) {
        const auto event = session.step();
        if (event.ok() && event->token >= 0) ids.push_back(event->token);
      }
    };
    const Answer other = answer_to(*new_session(model), some_ids(31, 2), greedy_options(20));
    std::thread thread([&] { drive(*a, 1, ids_a); });
    drive(*b, 2, ids_b);
    thread.join();
    CHECK(ids_a == expected_a.ids);
    CHECK(ids_b == other.ids);
  }
  // Interleaved on one thread.
  a->reset();
  b->reset();
  REQUIRE(a->begin(some_ids(30, 1), greedy_options(20)).ok());
  REQUIRE(b->begin(some_ids(33, 2), greedy_options(20)).ok());
  std::vector<TokenId> ids_a, ids_b;
  while (!a->done() || !b->done()) {
    for (const auto& [session, ids] : {std::pair(a.get(), &ids_a), std::pair(b.get(), &ids_b)}) {
      if (session->done()) continue;
      const auto event = session->step();
      REQUIRE(event.ok());
      if (event->token >= 0) ids->push_back(event->token);
    }
  }
  CHECK(ids_a == expected_a.ids);
  CHECK(ids_b == expected_b.ids);
}

TEST_CASE("Misuse of a session is an error with a sentence") {
  const auto model = load_tiny();
  const auto session = new_session(model);
  const auto code = [](const Status& status) {
    CHECK(status.ok() == status.message().empty());
    return status.code();
  };
  CHECK(session->done());
  CHECK(code(session->step().status()) == Code::invalid_argument);
  CHECK(code(session->begin({}, {})) == Code::invalid_argument);
  CHECK(code(session->begin(std::vector<TokenId>{-1}, {})) == Code::invalid_argument);
  CHECK(code(session->begin(std::vector<TokenId>{kTinyVocabulary}, {})) == Code::invalid_argument);
  GenerateOptions options;
  options.max_tokens = -2;
  CHECK(code(session->begin(std::vector<TokenId>{1}, options)) == Code::invalid_argument);
  options = {};
  options.sampling.top_p = 2;
  CHECK(code(session->begin(std::vector<TokenId>{1}, options)) == Code::invalid_argument);
  CHECK(session->done());
  CHECK(session->length() == 0);

  const int64_t longest = model->info().config.context;
  CHECK(code(Session::create(model, {longest + 1, 0}).status()) == Code::invalid_argument);
  CHECK(code(Session::create(model, {-1, 0}).status()) == Code::invalid_argument);
  CHECK(code(Session::create(model, {0, 129}).status()) == Code::invalid_argument);
  CHECK(code(Session::create(model, {0, -1}).status()) == Code::invalid_argument);
  CHECK(new_session(model)->max_context() == longest);

  CHECK(code(fingerprint(model, {}, 1, 0).status()) == Code::invalid_argument);
  CHECK(code(fingerprint(model, some_ids(3), 0, 0).status()) == Code::invalid_argument);
  CHECK(code(fingerprint(model, some_ids(3), 1, -1).status()) == Code::invalid_argument);
  CHECK(code(fingerprint(model, some_ids(3), longest, 0).status()) == Code::context_full);
}

TEST_CASE("The default context is at most 4096, and the cache grows as it is needed") {
  TinyModelOptions tiny;
  tiny.context = 100000;
  const auto model = load_tiny(tiny);
  const auto session = new_session(model);
  CHECK(session->max_context() == 4096);
  CHECK(session->cache_bytes() == 0);
  std::vector<float> logits(static_cast<size_t>(model->info().config.vocabulary));
  REQUIRE(session->evaluate(some_ids(65), false, logits.data()).ok());
  CHECK(session->cache_bytes() == 128 * model->info().kv_bytes_per_token);
}
