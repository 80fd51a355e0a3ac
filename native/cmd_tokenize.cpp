// bitwin tokenize: text to token ids.
#include <nlohmann/json.hpp>

#include "native/commands.h"
#include "native/input.h"
#include "native/options.h"
#include "native/output.h"
#include "native/system.h"

namespace bitwin::native {
namespace {

constexpr size_t kMaxText = 1u << 30;

struct Options {
  ModelOptions model;
  std::optional<std::string> jsonl;
  std::optional<std::string> text;
  bool parse_special = false;
  bool add_bos = false;
};

std::string encode_line(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options,
                        const std::string& where) {
  return nlohmann::json(value_of(tokenizer.encode(text, options), where)).dump() + "\n";
}

bool flag(const nlohmann::json& object, const char* key, const std::string& where) {
  auto found = object.find(key);
  if (found == object.end()) return false;
  if (!found->is_boolean()) throw Failure(where + ": \"" + key + "\" must be true or false");
  return found->get<bool>();
}

void encode_lines(const Tokenizer& tokenizer, const std::string& path) {
  LineReader reader(path);
  std::string line;
  std::string ready;
  try {
    while (reader.next(line)) {
      nlohmann::json object = parse_json(line, reader.where());
      if (!object.is_object()) throw Failure(reader.where() + ": expected an object with \"text\"");
      auto text = object.find("text");
      if (text == object.end() || !text->is_string()) throw Failure(reader.where() + ": \"text\" must be a string");
      EncodeOptions options;
      options.parse_special = flag(object, "parse_special", reader.where());
      options.add_bos = flag(object, "add_bos", reader.where());
      ready += encode_line(tokenizer, text->get_ref<const std::string&>(), options, reader.where());
      // Whoever feeds this through a pipe gets each answer before the next line is asked for.
      if (ready.size() >= 65536 || reader.would_read()) {
        write_out(ready);
        ready.clear();
      }
    }
  } catch (const Failure&) {
    write_out(ready);  // the lines before the bad one have their answers
    throw;
  }
  write_out(ready);
}

int run(const Options& options) {
  bool piped = !options.text && !options.jsonl && !is_terminal(Stream::input);
  if (!options.text && !options.jsonl && !piped) {
    throw Failure("tokenize needs a text, '-' for standard input, or --jsonl FILE", kExitUsage);
  }
  std::shared_ptr<const Model> model = load_model(options.model, Want::vocabulary);
  const Tokenizer& tokenizer = *model->tokenizer();
  if (options.jsonl) {
    encode_lines(tokenizer, *options.jsonl);
    return 0;
  }
  std::string text = piped || *options.text == "-" ? read_all("-", kMaxText) : *options.text;
  write_out(encode_line(tokenizer, text, {options.parse_special, options.add_bos}, ""));
  return 0;
}

}  // namespace

Command add_tokenize(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand("tokenize", "Turn text into token ids");
  add_model_options(*app, options->model, false)->required();
  CLI::Option* text =
      app->add_option("text", options->text, "The text, taken as it is; '-' or nothing: standard input");
  CLI::Option* special =
      app->add_flag("--parse-special", options->parse_special, "Control tokens written in the text become their ids");
  CLI::Option* bos = app->add_flag("--add-bos", options->add_bos, "Put the model's BOS id in front");
  app->add_option(
         "--jsonl", options->jsonl,
         "Lines of {\"text\", \"parse_special\", \"add_bos\"}, '-' for standard input; one JSON array of ids a "
         "line comes out. A missing parse_special or add_bos is false")
      ->type_name("FILE")
      ->excludes(text)
      ->excludes(special)
      ->excludes(bos);
  app->footer(
      "Examples:\n  bitwin tokenize -m model.gguf \"Hello there\"\n  bitwin tokenize -m model.gguf --jsonl "
      "texts.jsonl");
  return {app, [options] { return run(*options); }};
}

}  // namespace bitwin::native
