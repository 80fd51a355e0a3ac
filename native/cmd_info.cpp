// bitwin info: what a model file holds, and which kernels this machine has.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "native/commands.h"
#include "native/options.h"
#include "native/output.h"

namespace bitwin::native {
namespace {

struct Options {
  ModelOptions model;
  bool list_kernels = false;
  bool json = false;
};

// Of the tensors in the file; packed they take at most 4 % more.
uint64_t weight_bytes(const ModelInfo& info) {
  uint64_t bytes = 0;
  for (const ModelInfo::TypeCount& one : info.types) bytes += one.bytes;
  return bytes;
}

// 0.6 rather than the 0.6000000238418579 that the float is.
double decimal(float value) { return std::strtod(format("%.6g", static_cast<double>(value)).c_str(), nullptr); }

// The weights themselves are not read here, so info.has_weights does not tell.
bool holds_weights(const ModelInfo& info) { return !info.types.empty(); }

nlohmann::ordered_json to_json(const Model& model) {
  const ModelInfo& info = model.info();
  const ModelConfig& config = info.config;
  const Tokenizer& tokenizer = *model.tokenizer();
  nlohmann::ordered_json types = nlohmann::ordered_json::array();
  for (const ModelInfo::TypeCount& one : info.types) {
    types.push_back({{"type", one.type}, {"tensors", one.tensors}, {"bytes", one.bytes}});
  }
  return {{"name", config.name},
          {"architecture", config.architecture_name},
          {"has_weights", holds_weights(info)},
          {"parameters", info.parameters},
          {"file_bytes", info.file_bytes},
          {"weight_bytes", weight_bytes(info)},
          {"kv_bytes_per_token", info.kv_bytes_per_token},
          {"context", config.context},
          {"layers", config.layers},
          {"width", config.width},
          {"ffn", config.ffn},
          {"heads", config.heads},
          {"kv_heads", config.kv_heads},
          {"head_dim", config.head_dim},
          {"rope_base", config.rope_base},
          {"tied", config.tied},
          {"types", types},
          {"tokenizer", tokenizer.pre()},
          {"vocabulary", tokenizer.size()},
          {"bos", tokenizer.bos()},
          {"eos", tokenizer.eos()},
          {"add_bos", tokenizer.add_bos()},
          {"chat_template", !info.chat_template.empty()},
          {"sampling",
           {{"from_file", info.file_sampling},
            {"temperature", decimal(info.sampling.temperature)},
            {"top_k", info.sampling.top_k},
            {"top_p", decimal(info.sampling.top_p)},
            {"min_p", decimal(info.sampling.min_p)}}},
          {"kernel", info.kernel},
          {"threads", info.threads}};
}

std::string token_text(const Tokenizer& tokenizer, TokenId id) {
  if (id < 0) return "none";
  return std::to_string(id) + " " + harmless(tokenizer.bytes(id, true), false);
}

std::string count_text(uint64_t count) {
  double value = static_cast<double>(count);
  if (count >= 1000000000) return format("%.2f billion", value / 1e9);
  if (count >= 1000000) return format("%.1f million", value / 1e6);
  return std::to_string(count);
}

std::string to_text(const Model& model) {
  const ModelInfo& info = model.info();
  const ModelConfig& config = info.config;
  const Tokenizer& tokenizer = *model.tokenizer();
  std::string text;
  auto row = [&text](const char* label, const std::string& value) {
    text += format("%-14s %s\n", label, value.c_str());
  };
  auto number = [](int64_t value) { return std::to_string(value); };

  row("name", config.name.empty() ? "(none)" : harmless(config.name, false));
  row("architecture", harmless(config.architecture_name, false));
  row("parameters", holds_weights(info) ? count_text(info.parameters) : "none: this file holds only a vocabulary");
  row("file", format_bytes(static_cast<double>(info.file_bytes)));
  if (holds_weights(info)) {
    row("memory", "about " + format_bytes(static_cast<double>(weight_bytes(info))) + " for the weights, and " +
                      format_bytes(static_cast<double>(info.kv_bytes_per_token)) + " per token of context");
    row("context", number(config.context) + " tokens");
    row("layers", number(config.layers));
    row("width", number(config.width) + ", feed-forward " + number(config.ffn));
    row("heads", number(config.heads) + " of " + number(config.head_dim) + ", key/value " + number(config.kv_heads));
    row("rope", format("base %g, %s", config.rope_base, config.rope_adjacent ? "adjacent pairs" : "halves"));
    row("output", config.tied ? "the embedding table" : "a matrix of its own");
    for (const ModelInfo::TypeCount& one : info.types) {
      row("tensors", format("%-5s %5lld, %s", one.type.c_str(), static_cast<long long>(one.tensors),
                            format_bytes(static_cast<double>(one.bytes)).c_str()));
    }
  }
  row("tokenizer", harmless(tokenizer.pre(), false) + ", " + number(tokenizer.size()) + " tokens");
  row("bos", token_text(tokenizer, tokenizer.bos()) + (tokenizer.add_bos() ? ", put in front of a text" : ""));
  row("eos", token_text(tokenizer, tokenizer.eos()));
  row("chat template",
      info.chat_template.empty() ? "none" : number(static_cast<int64_t>(info.chat_template.size())) + " bytes");
  const SamplingOptions& sampling = info.sampling;
  row("sampling", format("temperature %g, top-k %d, top-p %g, min-p %g (%s)", static_cast<double>(sampling.temperature),
                         sampling.top_k, static_cast<double>(sampling.top_p), static_cast<double>(sampling.min_p),
                         info.file_sampling ? "from the file" : "the default"));
  row("kernel", info.kernel + format(", %d thread%s", info.threads, info.threads == 1 ? "" : "s"));
  return text;
}

int run(const Options& options) {
  if (options.list_kernels) {
    std::vector<std::string> names = kernels();
    std::string text;
    for (const std::string& name : names) text += name + "\n";
    write_out(options.json ? nlohmann::json(names).dump() + "\n" : text);
    return 0;
  }
  if (options.model.path.empty()) throw Failure("info needs a model (-m FILE) or --kernels", kExitUsage);
  std::shared_ptr<const Model> model = load_model(options.model, Want::vocabulary);
  if (options.json) {
    write_out(to_json(*model).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  } else {
    write_out(to_text(*model));
  }
  return 0;
}

}  // namespace

Command add_info(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand("info", "Show what a model file holds, or the kernels of this machine");
  add_model_options(*app, options->model, false);
  app->add_flag("--kernels", options->list_kernels,
                "List the kernels this machine can use, the best first, one a line");
  app->add_flag("--json", options->json, "Print JSON");
  app->footer("Examples:\n  bitwin info -m model.gguf\n  bitwin info --kernels");
  return {app, [options] { return run(*options); }};
}

}  // namespace bitwin::native
