#include <algorithm>
#include <optional>

#include "engine/base/system.h"
#include "engine/engine.h"
#include "engine/nn/kv_cache.h"
#include "engine/run/guard.h"
#include "engine/run/model_state.h"

namespace bitwin {
namespace {

constexpr int64_t kDefaultContext = 4096;
constexpr int64_t kDefaultChunk = 64;

using Number = long long;  // for messages

// Adds the time of a scope to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double* sum) : sum_(sum), start_(system::now()) {}
  ~Stopwatch() { *sum_ += system::now() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double* sum_;
  double start_;
};

}  // namespace

struct Session::State {
  State(std::shared_ptr<const Model> shared_model, int64_t max_context, int64_t prompt_chunk)
      : model(std::move(shared_model)),
        config(model->info().config),
        cache(config, max_context),
        chunk(prompt_chunk),
        logits(static_cast<size_t>(config.vocabulary)) {}

  std::shared_ptr<const Model> model;
  const ModelConfig& config;
  KvSequence cache;
  int64_t chunk;
  std::atomic<bool> stop{false};

  // The answer in progress.
  bool active = false;
  GenerateOptions options;
  std::optional<Sampler> sampler;
  std::optional<Detokenizer> detokenizer;
  std::vector<TokenId> prompt;
  int64_t prompt_done = 0;
  TokenId pending = -1;  // chosen, not yet evaluated
  bool chosen = false;
  std::vector<float> logits;  // of the last evaluated position
  Timings timings;

  Status check_ids(std::span<const TokenId> ids) const {
    if (ids.empty()) return error(Code::invalid_argument, "there are no tokens to evaluate");
    for (const TokenId id : ids) {
      if (id < 0 || id >= config.vocabulary) {
        return error(Code::invalid_argument, "token id %d is outside the vocabulary of %lld", id,
                     static_cast<Number>(config.vocabulary));
      }
    }
    const int64_t count = static_cast<int64_t>(ids.size());
    if (count > cache.max_length() - cache.length()) {
      return error(
          Code::context_full, "%lld tokens do not fit: the context has %lld positions, of which %lld are taken",
          static_cast<Number>(count), static_cast<Number>(cache.max_length()), static_cast<Number>(cache.length()));
    }
    return {};
  }

  // At most Forward::kMaxRows ids at the end of the cache. Logits of all of them, of the last, or of none.
  enum class Want { none, last, all };
  Status run(std::span<const TokenId> ids, Want want, float* out, const std::atomic<bool>* stop_flag) {
    BatchRow rows[Forward::kMaxRows];
    for (size_t i = 0; i < ids.size(); ++i) {
      const bool wanted = want == Want::all || (want == Want::last && i + 1 == ids.size());
      rows[i] = {&cache, cache.length() + static_cast<int64_t>(i), ids[i], wanted};
    }
    return model->state()->run({rows, ids.size()}, out, stop_flag);
  }

  // Ends the answer: what the detokeniser holds back comes out.
  void finish(FinishReason reason, StepEvent* event) {
    const Stopwatch watch(&timings.output);
    event->text += detokenizer->finish();
    event->finish = reason;
    active = false;
  }

  Status step_prompt(StepEvent* event) {
    const Stopwatch watch(&timings.first_token);
    const int64_t total = static_cast<int64_t>(prompt.size());
    const int64_t count = std::min(chunk, total - prompt_done);
    const std::span<const TokenId> ids =
        std::span(prompt).subspan(static_cast<size_t>(prompt_done), static_cast<size_t>(count));
    const bool last = prompt_done + count == total;
    BITWIN_RETURN_IF_ERROR(run(ids, last ? Want::last : Want::none, logits.data(), &stop));
    prompt_done += count;
    event->prompt_done = prompt_done;
    if (last && options.max_tokens == 0) finish(FinishReason::max_tokens, event);
    return {};
  }

  Status step_token(StepEvent* event) {
    {
      const Stopwatch watch(timings.generated_tokens == 0 ? &timings.first_token : &timings.later_tokens);
      if (pending >= 0) {
        BITWIN_RETURN_IF_ERROR(run({&pending, 1}, Want::last, logits.data(), &stop));
        pending = -1;
      }
      event->token = pending = sampler->choose(logits);
      chosen = true;
      ++timings.generated_tokens;
    }
    const bool ends = model->tokenizer()->ends_generation(event->token);
    {
      const Stopwatch watch(&timings.output);
      event->text = detokenizer->push(event->token);
    }
    if (ends && !options.ignore_end) {
      finish(FinishReason::end_of_text, event);
    } else if (timings.generated_tokens == options.max_tokens) {
      finish(FinishReason::max_tokens, event);
    } else if (cache.length() == cache.max_length()) {
      finish(FinishReason::context_full, event);
    }
    return {};
  }

  Result<StepEvent> step() {
    if (!active) return error(Code::invalid_argument, "there is no answer in progress: begin() starts one");
    const system::FloatEnvironment environment;
    StepEvent event;
    event.prompt_done = prompt_done;
    event.prompt_total = static_cast<int64_t>(prompt.size());
    Status status = stop.load(std::memory_order_relaxed) ? Status(Code::cancelled, "stopped")
                    : prompt_done < event.prompt_total   ? step_prompt(&event)
                                                         : step_token(&event);
    if (status.code() == Code::cancelled) {
      finish(FinishReason::stopped, &event);
      return event;
    }
    if (!status.ok()) return status;
    return event;
  }

  Status begin(std::span<const TokenId> ids, const GenerateOptions& generate_options) {
    active = false;
    BITWIN_RETURN_IF_ERROR(check(generate_options.sampling));
    if (generate_options.max_tokens < -1) {
      return error(Code::invalid_argument, "the maximum number of tokens must be at least -1, not %lld",
                   static_cast<Number>(generate_options.max_tokens));
    }
    BITWIN_RETURN_IF_ERROR(check_ids(ids));
    options = generate_options;
    sampler.emplace(options.sampling);
    detokenizer.emplace(model->tokenizer(), options.special);
    prompt.assign(ids.begin(), ids.end());
    prompt_done = 0;
    pending = -1;
    chosen = false;
    timings = {};
    timings.prompt_tokens = static_cast<int64_t>(prompt.size());
    stop.store(false, std::memory_order_relaxed);
    active = true;
    return {};
  }

  void forget_answer() {
    active = false;
    pending = -1;
    chosen = false;
  }

  Status evaluate(std::span<const TokenId> ids, bool all, float* out) {
    forget_answer();
    BITWIN_RETURN_IF_ERROR(check_ids(ids));
    const int64_t before = cache.length();
    for (size_t done = 0; done < ids.size();) {
      const size_t count = std::min(static_cast<size_t>(chunk), ids.size() - done);
      const bool last = done + count == ids.size();
      const Want want = all ? Want::all : last ? Want::last : Want::none;
      const Status status = run(ids.subspan(done, count), want, out, nullptr);
      if (!status.ok()) {
        cache.truncate(before);
        return status;
      }
      done += count;
      if (all) out += static_cast<int64_t>(count) * config.vocabulary;
    }
    return {};
  }
};

Session::Session() = default;
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Model> model, const SessionOptions& options) {
  return guarded([&]() -> Result<std::unique_ptr<Session>> {
    if (model->state() == nullptr) {
      return error(Code::unsupported, "the file holds a vocabulary but no weights, so there is nothing to run");
    }
    const int64_t longest = model->info().config.context;
    if (options.max_context < 0 || options.max_context > longest) {
      return error(Code::invalid_argument,
                   "a context of %lld tokens is out of range: the model was trained for 1 to %lld",
                   static_cast<Number>(options.max_context), static_cast<Number>(longest));
    }
    if (options.chunk < 0 || options.chunk > Forward::kMaxRows) {
      return error(Code::invalid_argument, "a prompt chunk must have 1 to %lld tokens, not %lld",
                   static_cast<Number>(Forward::kMaxRows), static_cast<Number>(options.chunk));
    }
    const int64_t max_context = options.max_context > 0 ? options.max_context : std::min(longest, kDefaultContext);
    std::unique_ptr<Session> session(new Session());
    session->state_ =
        std::make_unique<State>(std::move(model), max_context, options.chunk > 0 ? options.chunk : kDefaultChunk);
    return session;
  });
}

Status Session::begin(std::span<const TokenId> ids, const GenerateOptions& options) {
  return guarded([&] { return state_->begin(ids, options); });
}

Result<StepEvent> Session::step() {
  Result<StepEvent> event = guarded([&] { return state_->step(); });
  if (!event.ok()) state_->active = false;
  return event;
}

bool Session::done() const { return !state_->active; }

void Session::stop() { state_->stop.store(true, std::memory_order_relaxed); }

int64_t Session::length() const { return state_->cache.length(); }
int64_t Session::max_context() const { return state_->cache.max_length(); }

void Session::reset() { truncate(0); }

void Session::truncate(int64_t length) {
  state_->forget_answer();
  length = std::max<int64_t>(length, 0);
  if (length < state_->cache.length()) state_->cache.truncate(length);
}

bool Session::last_token_cached() const { return state_->pending < 0; }

Status Session::evaluate(std::span<const TokenId> ids, bool all, float* logits) {
  return guarded([&] { return state_->evaluate(ids, all, logits); });
}

std::span<const float> Session::logits() const {
  if (!state_->chosen) return {};
  return state_->logits;
}

const Timings& Session::timings() const { return state_->timings; }
void Session::add_input_time(double seconds) { state_->timings.input += seconds; }
void Session::add_output_time(double seconds) { state_->timings.output += seconds; }
uint64_t Session::cache_bytes() const { return state_->cache.bytes(); }

}  // namespace bitwin
