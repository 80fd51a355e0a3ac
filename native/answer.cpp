#include "native/answer.h"

#include <atomic>
#include <chrono>

#include "native/output.h"
#include "native/progress.h"
#include "native/system.h"

namespace bitwin::native {
namespace {

std::atomic<Session*> answering{nullptr};
std::atomic<int> interrupt_count{0};

// In a signal handler or on another thread. Whether the interrupt stopped an answer.
bool on_interrupt() {
  int count = interrupt_count.fetch_add(1) + 1;
  Session* session = answering.load();
  if (!session) return false;
  if (count > 1) leave_now(kExitInterrupted);
  session->stop();
  return true;
}

// Lets Ctrl-C reach the session while it exists.
class Answering {
 public:
  explicit Answering(Session& session) { answering.store(&session); }
  ~Answering() { answering.store(nullptr); }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;
};

// Ends the answer's line, also when an error cuts the answer off.
class LineEnd {
 public:
  LineEnd(const Answer& answer, Progress& progress) : answer_(answer), progress_(progress) {}
  ~LineEnd() {
    progress_.clear();
    if (!answer_.began && answer_.finish == FinishReason::none) return;
    try {
      write_out("\n");
    } catch (...) {
      // Nobody reads any more, or an error is on its way that says more.
    }
  }
  LineEnd(const LineEnd&) = delete;
  LineEnd& operator=(const LineEnd&) = delete;

 private:
  const Answer& answer_;
  Progress& progress_;
};

std::string milliseconds(double seconds) {
  return seconds < 1 ? format("%.1f ms", seconds * 1000) : format("%.2f s", seconds);
}

std::string speed(int64_t tokens, double seconds) {
  std::string text = format("%lld token%s", static_cast<long long>(tokens), tokens == 1 ? "" : "s");
  if (tokens > 0 && seconds > 0) text += format(", %.1f tokens/s", static_cast<double>(tokens) / seconds);
  return text;
}

const char* describe(FinishReason reason) {
  switch (reason) {
    case FinishReason::none:
      return "unfinished";
    case FinishReason::end_of_text:
      return "ended by itself";
    case FinishReason::max_tokens:
      return "cut at --max-tokens";
    case FinishReason::context_full:
      return "cut where the context was full (--ctx)";
    case FinishReason::stopped:
      return "stopped";
  }
  return "";
}

}  // namespace

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void catch_interrupts_for_answers() { catch_interrupts(on_interrupt); }
int interrupts() { return interrupt_count.load(); }
void interrupts_reset() { interrupt_count.store(0); }

Answer stream_answer(Session& session, std::span<const TokenId> ids, const GenerateOptions& options,
                     double input_seconds, bool quiet) {
  check_status(session.begin(ids, options));
  session.add_input_time(input_seconds);
  bool terminal = is_terminal(Stream::output);
  Progress progress("Reading the prompt", Progress::Unit::tokens, ids.size(), quiet);
  Answer answer;
  const LineEnd line_end(answer, progress);
  {
    Answering guard(session);
    while (!session.done()) {
      // Also a Ctrl-C that came before the guard was set.
      if (interrupts() > 0) session.stop();
      StepEvent event = value_of(session.step());
      answer.finish = event.finish;
      if (event.token >= 0) {
        if (!answer.began) progress.clear();
        answer.began = true;
        answer.last_token = event.token;
      } else if (!answer.began) {
        progress.update(static_cast<uint64_t>(event.prompt_done));
      }
      if (event.text.empty()) continue;
      double start = now();
      write_out(terminal ? harmless(event.text, true) : event.text);
      session.add_output_time(now() - start);
    }
  }
  return answer;
}

void print_statistics(const Session& session, const ModelInfo& info, const Answer& answer, uint64_t seed) {
  const Timings& times = session.timings();
  int64_t later = times.generated_tokens > 0 ? times.generated_tokens - 1 : 0;
  std::string text = "[input " + milliseconds(times.input) + " | first token " + milliseconds(times.first_token) +
                     " (" + speed(times.prompt_tokens, times.first_token) + ") | later tokens " +
                     milliseconds(times.later_tokens) + " (" + speed(later, times.later_tokens) + ") | output " +
                     milliseconds(times.output) + "]\n" + "[time to first token " +
                     milliseconds(times.input + times.first_token) + " | " + speed(times.generated_tokens, 0) + ", " +
                     describe(answer.finish) + " | seed " + std::to_string(seed) + " | " + info.kernel + ", " +
                     format("%d thread%s", info.threads, info.threads == 1 ? "" : "s") + " | weights " +
                     format_bytes(static_cast<double>(info.packed_bytes)) + ", cache " +
                     format_bytes(static_cast<double>(session.cache_bytes())) + "]\n";
  if (wants_colour(Stream::error)) {
    text.pop_back();
    text = "\x1b[2m" + text + "\x1b[0m\n";
  }
  write_err(text);
}

}  // namespace bitwin::native
