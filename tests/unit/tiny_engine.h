// Tiny models loaded through the public interface, for the tests of engine.h and capi.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "tests/support/tiny_model.h"
#include "tests/unit/catch.h"

namespace bitwin::testing {

// Feeds `file` in pieces of `piece` bytes and finishes.
inline Result<std::shared_ptr<const Model>> load_bytes(std::span<const uint8_t> file, const LoadOptions& options,
                                                       size_t piece = SIZE_MAX) {
  auto loader = Loader::create(options);
  if (!loader.ok()) return loader.status();
  while (!file.empty()) {
    const std::span<const uint8_t> next = file.first(std::min(piece, file.size()));
    BITWIN_RETURN_IF_ERROR((*loader)->feed(next));
    file = file.subspan(next.size());
  }
  return (*loader)->finish();
}

inline std::shared_ptr<const Model> load_tiny(const TinyModelOptions& tiny = {}, int threads = 1,
                                              const std::string& kernel = "") {
  LoadOptions options;
  options.threads = threads;
  options.kernel = kernel;
  auto model = load_bytes(make_tiny_model(tiny), options);
  INFO(model.status().message());
  REQUIRE(model.ok());
  return std::move(model).value();
}

inline std::unique_ptr<Session> new_session(const std::shared_ptr<const Model>& model,
                                            const SessionOptions& options = {}) {
  auto session = Session::create(model, options);
  INFO(session.status().message());
  REQUIRE(session.ok());
  return std::move(session).value();
}

// `count` ids of ordinary tokens.
inline std::vector<TokenId> some_ids(size_t count, uint32_t seed = 1) {
  std::vector<TokenId> ids(count);
  for (TokenId& id : ids) {
    seed = seed * 1664525 + 1013904223;
    id = static_cast<TokenId>((seed >> 16) % 256);
  }
  return ids;
}

inline GenerateOptions greedy_options(int64_t max_tokens) {
  GenerateOptions options;
  options.sampling.temperature = 0;
  options.max_tokens = max_tokens;
  options.ignore_end = true;
  return options;
}

struct Answer {
  std::vector<TokenId> ids;
  std::string text;
  FinishReason finish = FinishReason::none;
};

// Steps until the answer is complete.
inline Answer take_answer(Session& session) {
  Answer answer;
  while (!session.done()) {
    const auto event = session.step();
    INFO(event.status().message());
    REQUIRE(event.ok());
    if (event->token >= 0) answer.ids.push_back(event->token);
    answer.text += event->text;
    answer.finish = event->finish;
  }
  return answer;
}

inline Answer answer_to(Session& session, std::span<const TokenId> ids, const GenerateOptions& options) {
  const Status status = session.begin(ids, options);
  INFO(status.message());
  REQUIRE(status.ok());
  return take_answer(session);
}

}  // namespace bitwin::testing
