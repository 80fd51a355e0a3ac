// bitwin parity: a reproducible greedy run, and the fingerprint of its logits.
#include <cinttypes>
#include <nlohmann/json.hpp>

#include "native/commands.h"
#include "native/input.h"
#include "native/options.h"
#include "native/output.h"

namespace bitwin::native {
namespace {

constexpr int64_t kMaxChunk = 128;  // SessionOptions::chunk

struct Options {
  ModelOptions model;
  std::string ids;
  std::optional<int64_t> steps;
  std::optional<int64_t> chunk;  // empty: all
};

std::string hex(uint64_t value) { return format("%016" PRIx64, value); }

int run(Options& options) {
  options.model.quiet = true;
  // Read before the model is loaded, so that a wrong file shows at once.
  nlohmann::json document = read_json(options.ids);
  std::vector<TokenId> prompt = token_ids(document, INT32_MAX, options.ids + ": ids");
  if (prompt.empty()) throw Failure(options.ids + ": there are no ids");

  std::shared_ptr<const Model> model = load_model(options.model, Want::weights);
  prompt = token_ids(document, model->info().config.vocabulary, options.ids + ": ids");
  Fingerprint result = value_of(fingerprint(model, prompt, options.steps.value_or(8), options.chunk.value_or(0)));

  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (uint64_t step : result.steps) steps.push_back(hex(step));
  nlohmann::ordered_json output = {{"kernel", model->info().kernel},
                                   {"threads", model->info().threads},
                                   {"chunk", nullptr},
                                   {"prompt_tokens", prompt.size()},
                                   {"ids", result.ids},
                                   {"steps", steps},
                                   {"fingerprint", hex(result.all)}};
  if (options.chunk) {
    output["chunk"] = *options.chunk;
  } else {
    output["chunk"] = "all";
  }
  write_out(output.dump() + "\n");
  return 0;
}

}  // namespace

Command add_parity(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand("parity", "Fingerprint the logits of a greedy run");
  add_model_options(*app, options->model, true)->required();
  app->add_option("--ids", options->ids, "The prompt: a JSON array of token ids; '-' for standard input")
      ->type_name("FILE")
      ->required();
  add_integer(*app, "-n", options->steps, 1, INT32_MAX, "Greedy steps (default: 8)");
  auto chunk = [options](const std::string& text) {
    if (text == "all") {
      options->chunk.reset();
      return;
    }
    std::optional<int64_t> value = parse_integer(text);
    if (!value || *value < 1 || *value > kMaxChunk) {
      throw CLI::ValidationError(
          "--chunk", "'" + text + "' is neither a whole number from 1 to " + std::to_string(kMaxChunk) + " nor 'all'");
    }
    options->chunk = value;
  };
  app->add_option_function<std::string>(
         "--chunk", chunk, "Prompt tokens evaluated at once, 1 to 128 (default: all, as far as one pass takes them)")
      ->type_name("N|all");
  app->footer(
      "Prints JSON: kernel, threads, chunk, prompt_tokens, ids (the greedy tokens), steps (a hash of each step's\n"
      "logits) and fingerprint (a hash of those). For one model and prompt the last three are the same on every\n"
      "machine, with every kernel, any number of threads and any chunk.\n\n"
      "Example:\n  echo '[1, 2, 3]' | bitwin parity -m model.gguf --ids - -n 8 --threads 2 --chunk 7");
  return {app, [options] { return run(*options); }};
}

}  // namespace bitwin::native
