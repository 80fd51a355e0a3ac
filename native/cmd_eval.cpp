// bitwin eval: a model against a float32 reference.
#include <nlohmann/json.hpp>

#include "native/commands.h"
#include "native/evaluate.h"
#include "native/options.h"
#include "native/output.h"

namespace bitwin::native {
namespace {

struct Options {
  ModelOptions model;
  std::string reference;
};

nlohmann::ordered_json number_or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

int run(const Options& options) {
  std::shared_ptr<const Model> model = load_model(options.model, Want::weights);
  Reference reference = read_reference(options.reference, model->info().config.vocabulary);
  Score score = evaluate(model, reference, options.model.quiet);
  if (!score.mean_kl && !score.ppl && !score.greedy_agreement) {
    throw Failure(options.reference + ": there is nothing to compare: no position after the first, no greedy step");
  }
  nlohmann::ordered_json output = {{"mean_kl", number_or_null(score.mean_kl)},
                                   {"p99_kl", number_or_null(score.p99_kl)},
                                   {"same_top", number_or_null(score.same_top)},
                                   {"ppl", number_or_null(score.ppl)},
                                   {"greedy_agreement", number_or_null(score.greedy_agreement)}};
  write_out(output.dump() + "\n");
  return 0;
}

}  // namespace

Command add_eval(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand("eval", "Compare a model with a float32 reference");
  add_model_options(*app, options->model, true)->required();
  app->add_option("--reference", options->reference,
                  "The reference: JSON of a whole text (ids and positions) or of prompts with greedy continuations")
      ->type_name("FILE")
      ->required();
  app->footer(
      "Prints JSON: mean_kl and p99_kl (divergence from the reference, nats), same_top (share of positions with the\n"
      "reference's most likely token), ppl (perplexity of a whole text), greedy_agreement (share of greedy steps with\n"
      "the reference's token, up to the first that is a close call). What a form does not give is null.\n\n"
      "Example:\n  bitwin eval -m smollm2.gguf --reference tests/golden/logits/smollm2.text.json");
  return {app, [options] { return run(*options); }};
}

}  // namespace bitwin::native
