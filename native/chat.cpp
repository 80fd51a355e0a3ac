#include "native/chat.h"

#include <optional>

#include "native/answer.h"
#include "native/output.h"
#include "native/system.h"

namespace bitwin::native {
namespace {

constexpr char kHelp[] =
    R"(Write a message and press Enter. A line that ends in \ goes on in the next one;
""" begins and ends a message of several lines. A line has at most 4094 bytes.
  /clear   forget the conversation
  /help    show this
  /exit    leave (or Ctrl-D)
  Ctrl-C   stop the answer; a second time: leave
)";

class Chat {
 public:
  Chat(const std::shared_ptr<const Model>& model, Session& session, const ChatOptions& options)
      : model_(model), session_(session), options_(options) {}

  int run() {
    if (!options_.quiet) write_err("/help shows what can be typed here, /exit leaves.\n");
    for (;;) {
      std::string message;
      switch (read_message(message)) {
        case LineResult::end:
          write_err("\n");
          return 0;
        case LineResult::interrupted:
          if (interrupts() > 1) {
            write_err("\n");
            return kExitInterrupted;
          }
          write_err("\n(Ctrl-C once more or /exit leaves)\n");
          continue;
        case LineResult::cut:
          print_error(
              "the terminal keeps 4095 bytes of a line and has cut this one; nothing was sent. Break it with \\ at the "
              "end of a line, or give long texts on standard input");
          continue;
        case LineResult::line:
          break;
      }
      interrupts_reset();
      std::string word = trimmed(message);
      if (word.empty()) continue;
      if (word == "/exit") return 0;
      if (word == "/help") {
        write_err(kHelp);
      } else if (word == "/clear") {
        session_.reset();
        turn_closed_ = true;
        unevaluated_.reset();
        write_err("The conversation is forgotten.\n");
      } else if (is_command(word)) {
        write_err("There is no command " + word + "; /help shows those there are.\n");
      } else {
        answer(message);
      }
    }
  }

 private:
  static std::string trimmed(const std::string& text) {
    size_t first = text.find_first_not_of(" \t\n");
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
  }

  // A slash and one word: more likely a slip than a message.
  static bool is_command(const std::string& text) {
    return text.size() > 1 && text[0] == '/' &&
           text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", 1) == std::string::npos;
  }

  static LineResult read_line(const char* prompt, std::string& line) {
    write_err(wants_colour(Stream::error) ? "\x1b[1m" + std::string(prompt) + "\x1b[0m" : prompt);
    return read_terminal_line(line);
  }

  // One message: a line, lines joined by a trailing backslash, or a block between """.
  static LineResult read_message(std::string& message) {
    std::string line;
    LineResult result = read_line("> ", line);
    if (result != LineResult::line) return result;
    if (line.starts_with("\"\"\"")) return read_block(line.substr(3), message);
    while (line.ends_with('\\')) {
      line.pop_back();
      message += line + "\n";
      result = read_line(". ", line);
      if (result != LineResult::line) return result;
    }
    message += line;
    return LineResult::line;
  }

  static LineResult read_block(std::string line, std::string& message) {
    bool first = true;
    for (;;) {
      size_t end = line.find("\"\"\"");
      message += line.substr(0, end);
      if (end != std::string::npos) return LineResult::line;
      // Text may follow the opening quotes at once or begin on the next line.
      if (!first || !line.empty()) message += "\n";
      first = false;
      LineResult result = read_line(". ", line);
      if (result != LineResult::line) return result;
    }
  }

  void answer(const std::string& text) {
    double start = now();
    int64_t before = session_.length();
    std::vector<ChatMessage> messages;
    if (before == 0 && !options_.system.empty()) messages.push_back({"system", options_.system});
    messages.push_back({"user", text});
    try {
      std::vector<TokenId> ids = value_of(render_chatml(*model_->tokenizer(), messages, before > 0, turn_closed_));
      if (unevaluated_) ids.insert(ids.begin(), *unevaluated_);
      double input_seconds = now() - start;
      Answer answer = stream_answer(session_, ids, options_.generate, input_seconds, options_.quiet);
      if (!options_.quiet) print_statistics(session_, model_->info(), answer, options_.generate.sampling.seed);
      ++options_.generate.sampling.seed;
      if (!answer.began) {
        session_.truncate(before);  // stopped before the message was read: as if it had not been written
        return;
      }
      remember_end(answer);
      if (answer.finish == FinishReason::context_full) {
        write_err(format("The context of %lld tokens is full: /clear starts anew; --ctx makes more room.\n",
                         static_cast<long long>(session_.max_context())));
      }
    } catch (const Failure& failure) {
      print_error(failure.what());
      session_.truncate(before);
    }
  }

  // What the next message has to put in front, so that the cache continues exactly what was shown.
  void remember_end(const Answer& answer) {
    bool ended = answer.finish == FinishReason::end_of_text;
    bool cached = session_.last_token_cached();
    turn_closed_ = ended && cached;
    unevaluated_.reset();
    if (!ended && !cached) unevaluated_ = answer.last_token;
  }

  const std::shared_ptr<const Model>& model_;
  Session& session_;
  ChatOptions options_;
  bool turn_closed_ = true;
  std::optional<TokenId> unevaluated_;
};

}  // namespace

int chat(const std::shared_ptr<const Model>& model, Session& session, const ChatOptions& options) {
  return Chat(model, session, options).run();
}

}  // namespace bitwin::native
