#include "engine/capi.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/base/hash.h"
#include "engine/base/system.h"
#include "engine/engine.h"

using namespace bitwin;

struct bitwin_loader {
  std::unique_ptr<Loader> loader;
};

struct bitwin_model {
  std::shared_ptr<const Model> model;
  std::string info;
};

struct bitwin_session {
  std::shared_ptr<const Model> model;
  std::unique_ptr<Session> session;
  std::string text;  // of the last event

  // The conversation in the cache.
  bool turn_closed = false;  // the assistant's turn ends with its end token
  TokenId unevaluated = -1;  // a token that was shown but is not in the cache yet

  // The answer in progress, when bitwin_session_chat started it.
  bool answering = false;
  TokenId last_token = -1;    // -1 until the first one
  int64_t length_before = 0;  // of the cache when it was started
};

namespace {

thread_local std::string last_message;
thread_local Code last_code = Code::ok;

int32_t fail(const Status& status) noexcept {
  last_code = status.code();
  try {
    last_message = status.message();
  } catch (const std::bad_alloc&) {
    last_message.clear();
  }
  return static_cast<int32_t>(status.code());
}

// Runs f, which returns a Status; its code is the function's.
template <class F>
int32_t call(F&& f) noexcept {
  try {
    return fail(f());
  } catch (const std::bad_alloc&) {
    return fail(Status(Code::out_of_memory, "out of memory"));
  } catch (...) {
    return fail(Status(Code::internal, "unexpected failure"));
  }
}

// A flat JSON object or array of known keys.
class Json {
 public:
  explicit Json(char open = '{') : text_(1, open), close_(open == '{' ? '}' : ']') {}

  Json& key(const char* name) {
    separate();
    text_.append("\"").append(name).append("\":");
    after_key_ = true;
    return *this;
  }
  Json& string(std::string_view value) {
    separate();
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') {
        text_.append({'\\', c});
      } else if (static_cast<unsigned char>(c) < 0x20) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
        text_ += escaped;
      } else {
        text_ += c;
      }
    }
    text_ += '"';
    return *this;
  }
  template <class T>
  Json& number(T value) {
    return raw(std::to_string(value));
  }
  Json& number(double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.9g", value);
    return raw(digits);
  }
  // As many digits as tell every float apart.
  Json& number(float value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.9g", static_cast<double>(value));
    return raw(digits);
  }
  Json& raw(std::string_view json) {
    separate();
    text_ += json;
    return *this;
  }
  std::string finish() { return text_ + close_; }

 private:
  void separate() {
    if (!after_key_ && text_.size() > 1) text_ += ',';
    after_key_ = false;
  }
  std::string text_;
  char close_;
  bool after_key_ = false;
};

std::string model_json(const ModelInfo& info) {
  const ModelConfig& config = info.config;
  Json json;
  json.key("architecture").string(config.architecture_name);
  json.key("name").string(config.name);
  json.key("layers").number(config.layers);
  json.key("width").number(config.width);
  json.key("heads").number(config.heads);
  json.key("kv_heads").number(config.kv_heads);
  json.key("context").number(config.context);
  json.key("vocabulary").number(config.vocabulary);
  json.key("parameters").number(info.parameters);
  json.key("packed_bytes").number(info.packed_bytes);
  json.key("kv_bytes_per_token").number(info.kv_bytes_per_token);
  json.key("kernel").string(info.kernel);
  json.key("threads").number(info.threads);
  json.key("temperature").number(info.sampling.temperature);
  json.key("top_k").number(info.sampling.top_k);
  json.key("top_p").number(info.sampling.top_p);
  json.key("min_p").number(info.sampling.min_p);
  return json.finish();
}

std::string parity_json(const ModelInfo& info, uint32_t prompt_tokens, uint32_t chunk, const Fingerprint& run) {
  Json ids('['), steps('[');
  for (const TokenId id : run.ids) ids.number(id);
  for (const uint64_t step : run.steps) steps.string(hex64(step));
  Json json;
  json.key("kernel").string(info.kernel);
  json.key("threads").number(info.threads);
  json.key("chunk");
  if (chunk == 0) {
    json.string("all");
  } else {
    json.number(chunk);
  }
  json.key("prompt_tokens").number(prompt_tokens);
  json.key("ids").raw(ids.finish());
  json.key("steps").raw(steps.finish());
  json.key("fingerprint").string(hex64(run.all));
  return json.finish();
}

std::string limits_json(const Limits& limits, const TokenCost& cost) {
  Json json;
  json.key("read_bytes_per_second").number(limits.read_bytes_per_second);
  json.key("macs_per_second").number(limits.macs_per_second);
  json.key("weight_bytes_per_token").number(cost.weight_bytes);
  json.key("macs_per_token").number(cost.macs);
  return json.finish();
}

// Text for a caller that frees it.
Status hand_over(const std::string& text, char** out) {
  *out = static_cast<char*>(std::malloc(text.size() + 1));
  if (*out == nullptr) return Status(Code::out_of_memory, "out of memory");
  std::memcpy(*out, text.c_str(), text.size() + 1);
  return {};
}

GenerateOptions generate_options(const bitwin_session* session, const bitwin_generate_options* options) {
  GenerateOptions result;
  result.sampling = session->model->info().sampling;
  if (options == nullptr) return result;
  result.sampling.temperature = options->temperature;
  result.sampling.top_k = options->top_k;
  result.sampling.top_p = options->top_p;
  result.sampling.min_p = options->min_p;
  result.sampling.seed = static_cast<uint64_t>(options->seed_high) << 32 | options->seed_low;
  result.max_tokens = options->max_tokens;
  result.ignore_end = options->ignore_end != 0;
  return result;
}

// The whole new turn, with whatever the cache lacks of the turn before.
Result<std::vector<TokenId>> render_turn(const bitwin_session* session, const char* system, const char* user) {
  const bool continuation = session->session->length() > 0;
  std::vector<ChatMessage> messages;
  if (!continuation && system != nullptr) messages.push_back({"system", system});
  messages.push_back({"user", user});
  BITWIN_ASSIGN_OR_RETURN(std::vector<TokenId> ids,
                          render_chatml(*session->model->tokenizer(), messages, continuation, session->turn_closed));
  if (continuation && session->unevaluated >= 0) ids.insert(ids.begin(), session->unevaluated);
  return ids;
}

// What the next turn has to know of the answer that has ended. One that failed, or was stopped before its first token,
// is taken back: the conversation is as if the message had not been written.
void end_chat(bitwin_session* session, bool failed, FinishReason finish) {
  if (!session->answering) return;
  session->answering = false;
  if (failed || session->last_token < 0) {
    session->session->truncate(session->length_before);
    return;
  }
  const bool cached = session->session->last_token_cached();
  const bool ended = finish == FinishReason::end_of_text;
  session->turn_closed = ended && cached;
  session->unevaluated = ended || cached ? -1 : session->last_token;
}

Status chat(bitwin_session* session, const char* system, const char* user, const bitwin_generate_options* options) {
  if (user == nullptr) return error(Code::invalid_argument, "there is no message to answer");
  const double start = system::now();
  end_chat(session, false, FinishReason::stopped);
  BITWIN_ASSIGN_OR_RETURN(const std::vector<TokenId> ids, render_turn(session, system, user));
  BITWIN_RETURN_IF_ERROR(session->session->begin(ids, generate_options(session, options)));
  session->session->add_input_time(system::now() - start);
  session->answering = true;
  session->last_token = -1;
  session->length_before = session->session->length();
  return {};
}

Status begin(bitwin_session* session, std::span<const TokenId> ids, const bitwin_generate_options* options) {
  end_chat(session, false, FinishReason::stopped);
  session->turn_closed = false;
  session->unevaluated = -1;
  return session->session->begin(ids, generate_options(session, options));
}

Status step(bitwin_session* session, bitwin_step_event* out) {
  Result<StepEvent> event = session->session->step();
  if (!event.ok()) {
    end_chat(session, true, FinishReason::none);
    return event.status();
  }
  if (event->token >= 0) session->last_token = event->token;
  session->text = std::move(event->text);
  out->prompt_done = static_cast<uint32_t>(event->prompt_done);
  out->prompt_total = static_cast<uint32_t>(event->prompt_total);
  out->token = event->token;
  out->finish = static_cast<int32_t>(event->finish);
  out->text = session->text.c_str();
  out->text_size = static_cast<uint32_t>(session->text.size());
  if (event->finish != FinishReason::none) end_chat(session, false, event->finish);
  return {};
}

}  // namespace

const char* bitwin_version(void) { return version(); }

const char* bitwin_last_error(void) { return last_message.c_str(); }

int32_t bitwin_last_error_code(void) { return static_cast<int32_t>(last_code); }

const char* bitwin_kernels(void) {
  static std::string names;
  call([&] {
    std::string lines;
    for (const std::string& name : kernels()) lines += name + "\n";
    names = std::move(lines);
    return Status();
  });
  return names.c_str();
}

void* bitwin_alloc(uint32_t bytes) { return std::malloc(bytes); }
void bitwin_free(void* data) { std::free(data); }

bitwin_loader* bitwin_loader_new(int32_t threads, const char* kernel, double file_size) {
  std::unique_ptr<bitwin_loader> handle;
  call([&]() -> Status {
    LoadOptions options;
    options.threads = threads;
    if (kernel != nullptr) options.kernel = kernel;
    // Not a number, negative, or more than a double counts exactly: unknown.
    if (file_size >= 1 && file_size <= 0x1p53) options.file_size = static_cast<uint64_t>(file_size);
    BITWIN_ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader, Loader::create(options));
    handle.reset(new bitwin_loader{std::move(loader)});
    return {};
  });
  return handle.release();
}

int32_t bitwin_loader_feed(bitwin_loader* loader, const uint8_t* bytes, uint32_t size) {
  return call([&] { return loader->loader->feed({bytes, size}); });
}

double bitwin_loader_bytes_needed(const bitwin_loader* loader) {
  return static_cast<double>(loader->loader->bytes_needed());
}

bitwin_model* bitwin_loader_finish(bitwin_loader* loader) {
  const std::unique_ptr<bitwin_loader> owner(loader);
  std::unique_ptr<bitwin_model> handle;
  call([&]() -> Status {
    BITWIN_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, owner->loader->finish());
    std::string info = model_json(model->info());
    handle.reset(new bitwin_model{std::move(model), std::move(info)});
    return {};
  });
  return handle.release();
}

void bitwin_loader_free(bitwin_loader* loader) { delete loader; }

void bitwin_model_free(bitwin_model* model) { delete model; }

const char* bitwin_model_info(bitwin_model* model) { return model->info.c_str(); }

int32_t bitwin_model_tokenize(bitwin_model* model, const char* text, uint32_t size, int32_t parse_special,
                              int32_t add_bos, int32_t* ids, uint32_t capacity) {
  int32_t count = 0;
  const int32_t code = call([&]() -> Status {
    BITWIN_ASSIGN_OR_RETURN(const std::vector<TokenId> all,
                            model->model->tokenizer()->encode({text, size}, {parse_special != 0, add_bos != 0}));
    std::copy_n(all.begin(), std::min<size_t>(all.size(), capacity), ids);
    count = static_cast<int32_t>(all.size());
    return {};
  });
  return code == 0 ? count : -code;
}

bitwin_session* bitwin_session_new(bitwin_model* model, uint32_t max_context, uint32_t chunk) {
  std::unique_ptr<bitwin_session> handle;
  call([&]() -> Status {
    BITWIN_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(model->model, {max_context, chunk}));
    handle.reset(new bitwin_session{model->model, std::move(session), {}});
    return {};
  });
  return handle.release();
}

void bitwin_session_free(bitwin_session* session) { delete session; }

int32_t bitwin_session_chat(bitwin_session* session, const char* system, const char* user,
                            const bitwin_generate_options* options) {
  return call([&] { return chat(session, system, user, options); });
}

int32_t bitwin_session_begin(bitwin_session* session, const int32_t* ids, uint32_t count,
                             const bitwin_generate_options* options) {
  return call([&] { return begin(session, {ids, count}, options); });
}

int32_t bitwin_session_step(bitwin_session* session, bitwin_step_event* event) {
  return call([&] { return step(session, event); });
}

void bitwin_session_stop(bitwin_session* session) { session->session->stop(); }

void bitwin_session_reset(bitwin_session* session) {
  session->session->reset();
  session->answering = false;
  session->turn_closed = false;
  session->unevaluated = -1;
}

uint32_t bitwin_session_length(const bitwin_session* session) {
  return static_cast<uint32_t>(session->session->length());
}

void bitwin_session_timings(const bitwin_session* session, bitwin_timings* timings) {
  const Timings& times = session->session->timings();
  timings->input = times.input;
  timings->first_token = times.first_token;
  timings->later_tokens = times.later_tokens;
  timings->output = times.output;
  timings->prompt_tokens = static_cast<uint32_t>(times.prompt_tokens);
  timings->generated_tokens = static_cast<uint32_t>(times.generated_tokens);
}

char* bitwin_parity(bitwin_model* model, const int32_t* ids, uint32_t count, uint32_t steps, uint32_t chunk) {
  char* text = nullptr;
  call([&]() -> Status {
    BITWIN_ASSIGN_OR_RETURN(const Fingerprint run, fingerprint(model->model, {ids, count}, steps, chunk));
    return hand_over(parity_json(model->model->info(), count, chunk, run), &text);
  });
  return text;
}

char* bitwin_limits(bitwin_model* model, double bytes) {
  char* text = nullptr;
  call([&]() -> Status {
    if (!(bytes >= 0 && bytes <= 0x1p53)) return error(Code::invalid_argument, "%g is not a number of bytes", bytes);
    const uint64_t size = bytes < 1 ? kLimitBytes : static_cast<uint64_t>(bytes);
    BITWIN_ASSIGN_OR_RETURN(const Limits limits, measure_limits(*model->model, size));
    return hand_over(limits_json(limits, token_cost(*model->model)), &text);
  });
  return text;
}
