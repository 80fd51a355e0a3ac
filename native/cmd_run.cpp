// bitwin run: one answer, or a chat at the terminal.
#include <algorithm>

#include "native/answer.h"
#include "native/chat.h"
#include "native/commands.h"
#include "native/input.h"
#include "native/options.h"
#include "native/output.h"
#include "native/system.h"

namespace bitwin::native {
namespace {

constexpr size_t kMaxPrompt = 64u << 20;
constexpr int64_t kDefaultContext = 4096;

constexpr char kFooter[] =
    R"(The prompt is the argument, else standard input ('-', or when it is piped; one line end at its end is
left out). At a terminal without a prompt this is a chat. The answer goes to standard output, progress
and statistics to standard error; colours are left out when NO_COLOR is set.

Examples:
  bitwin run -m model.gguf
  bitwin run -m model.gguf "Why is the sky blue?"
  bitwin run -m model.gguf --system "You are a poet." --seed 7 --max-tokens 200 "Write about rain."
  git diff | bitwin run -m model.gguf --quiet - > summary.txt
  bitwin run -m model.gguf --raw --temp 0 "Once upon a time")";

struct Options {
  ModelOptions model;
  std::optional<std::string> prompt;
  std::string system;
  SamplingFlags sampling;
  std::optional<int64_t> max_tokens;
  std::optional<int64_t> context;
  bool raw = false;
};

std::string read_prompt() {
  std::string text = read_all("-", kMaxPrompt);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // some Windows programs begin a pipe with a byte order mark
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

// The prompt as the model is to see it, with its own control tokens; a BOS in the text is not doubled.
std::vector<TokenId> raw_ids(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<TokenId> ids = value_of(tokenizer.encode(text, {.parse_special = true, .add_bos = false}));
  bool has_bos = !ids.empty() && ids[0] == tokenizer.bos();
  if (tokenizer.add_bos() && tokenizer.bos() >= 0 && !has_bos) ids.insert(ids.begin(), tokenizer.bos());
  if (ids.empty()) throw Failure("the prompt is empty", kExitUsage);
  return ids;
}

std::vector<TokenId> chat_ids(const Tokenizer& tokenizer, const Options& options, const std::string& prompt) {
  std::vector<ChatMessage> messages;
  if (!options.system.empty()) messages.push_back({"system", options.system});
  messages.push_back({"user", prompt});
  return value_of(render_chatml(tokenizer, messages));
}

std::unique_ptr<Session> make_session(const Options& options, const std::shared_ptr<const Model>& model) {
  int64_t trained = model->info().config.context;
  SessionOptions session;
  session.max_context = options.context.value_or(std::min(trained, kDefaultContext));
  if (session.max_context > trained) {
    print_warning("--ctx " + std::to_string(session.max_context) + " is more than the " + std::to_string(trained) +
                  " tokens this model was trained for; using " + std::to_string(trained));
    session.max_context = trained;
  }
  return value_of(Session::create(model, session));
}

int answer_once(const Options& options, const std::shared_ptr<const Model>& model, Session& session,
                const GenerateOptions& generate, const std::string& prompt) {
  double start = now();
  const Tokenizer& tokenizer = *model->tokenizer();
  std::vector<TokenId> ids = options.raw ? raw_ids(tokenizer, prompt) : chat_ids(tokenizer, options, prompt);
  Answer answer = stream_answer(session, ids, generate, now() - start, options.model.quiet);
  if (!options.model.quiet) print_statistics(session, model->info(), answer, generate.sampling.seed);
  return answer.finish == FinishReason::stopped ? kExitInterrupted : 0;
}

int run(const Options& options) {
  bool chatting = !options.prompt && is_terminal(Stream::input);
  if (chatting && options.raw) throw Failure("--raw needs a prompt, as an argument or on standard input", kExitUsage);
  check_status(check(options.sampling.over({})), "", kExitUsage);
  check_kernel(options.model.kernel);

  std::string prompt;
  bool piped = !chatting && (!options.prompt || *options.prompt == "-");
  if (options.model.path == "-" && (piped || chatting)) {
    throw Failure("the model and the prompt cannot both come from standard input", kExitUsage);
  }
  if (!chatting) {
    prompt = piped ? read_prompt() : *options.prompt;
    if (!options.raw && prompt.find_first_not_of(" \t\r\n") == std::string::npos) {
      throw Failure("the prompt is empty; give it as an argument or on standard input", kExitUsage);
    }
  }

  std::shared_ptr<const Model> model = load_model(options.model, Want::weights);
  GenerateOptions generate;
  generate.sampling = options.sampling.over(model->info().sampling);
  check_status(check(generate.sampling), options.model.path);
  generate.max_tokens = options.max_tokens.value_or(-1);
  std::unique_ptr<Session> session = make_session(options, model);

  catch_interrupts_for_answers();
  if (chatting) return chat(model, *session, {options.system, generate, options.model.quiet});
  return answer_once(options, model, *session, generate, prompt);
}

}  // namespace

Command add_run(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand("run", "Answer a prompt, or chat at the terminal");
  app->add_option("prompt", options->prompt, "The prompt; '-': standard input");
  add_model_options(*app, options->model, true)->required();
  CLI::Option* system =
      app->add_option("--system", options->system, "The system message, put in front of the conversation")
          ->type_name("TEXT");
  app->add_flag("--raw", options->raw,
                "Give the prompt to the model as it is, without the chat form; control tokens in it become their ids")
      ->excludes(system);
  add_integer(*app, "-n,--max-tokens", options->max_tokens, 1, INT32_MAX,
              "Longest answer, tokens (default: until the context is full)");
  add_integer(*app, "-c,--ctx", options->context, 1, INT32_MAX,
              "Longest context, tokens of the conversation in all (default: the smaller of the model's and 4096)");
  app->add_flag("-q,--quiet", options->model.quiet, "No progress and no statistics");
  add_sampling_options(*app, options->sampling);
  app->footer(kFooter);
  return {app, [options] { return run(*options); }};
}

}  // namespace bitwin::native
