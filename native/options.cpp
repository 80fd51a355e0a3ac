#include "native/options.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <random>

#include "native/output.h"

namespace bitwin::native {

namespace {

constexpr int64_t kMaxThreads = 256;

template <class T>
std::optional<T> parse_with_from_chars(const std::string& text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Adds an option whose text `parse` turns into a value that `accept` likes; `range` describes those.
template <class T, class Parse, class Accept>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, std::optional<T>& value, Parse parse, Accept accept,
                        const std::string& type, const std::string& range, const std::string& description) {
  std::string long_name = name.substr(name.rfind(',') + 1);
  auto assign = [&value, parse, accept, long_name, range](const std::string& text) {
    std::optional<T> parsed = parse(text);
    if (!parsed || !accept(*parsed)) throw CLI::ValidationError(long_name, "'" + text + "' is not " + range);
    value = parsed;
  };
  return app.add_option_function<std::string>(name, assign, description)->type_name(type);
}

void add_real(CLI::App& app, const std::string& name, std::optional<double>& value, double low, double high,
              const std::string& description) {
  add_parsed<double>(
      app, name, value, parse_real, [low, high](double x) { return x >= low && x <= high; }, "X",
      format("a number from %g to %g", low, high), description);
}

}  // namespace

std::optional<int64_t> parse_integer(const std::string& text) { return parse_with_from_chars<int64_t>(text); }

std::optional<uint64_t> parse_unsigned(const std::string& text) { return parse_with_from_chars<uint64_t>(text); }

std::optional<double> parse_real(const std::string& text) {
  // from_chars for floating point is missing in some standard libraries; strtod also takes spaces, "nan" and hex.
  if (text.empty() || text.find_first_not_of("0123456789+-.eE") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

CLI::Option* add_integer(CLI::App& app, const std::string& name, std::optional<int64_t>& value, int64_t low,
                         int64_t high, const std::string& description) {
  std::string range = high == INT64_MAX ? format("a whole number from %lld on", static_cast<long long>(low))
                                        : format("a whole number from %lld to %lld", static_cast<long long>(low),
                                                 static_cast<long long>(high));
  return add_parsed<int64_t>(
      app, name, value, parse_integer, [low, high](int64_t x) { return x >= low && x <= high; }, "N", range,
      description);
}

CLI::Option* add_model_options(CLI::App& app, ModelOptions& options, bool compute) {
  CLI::Option* model = app.add_option("-m,--model", options.path, "The model: a GGUF file")->type_name("FILE");
  if (compute) {
    auto threads = [&options](const std::string& text) {
      std::optional<int64_t> value = parse_integer(text);
      if (!value || *value < 1 || *value > kMaxThreads) {
        throw CLI::ValidationError("--threads",
                                   "'" + text + "' is not a whole number from 1 to " + std::to_string(kMaxThreads));
      }
      options.threads = static_cast<int>(*value);
    };
    app.add_option_function<std::string>("-t,--threads", threads, "Threads to compute on (default: the physical cores)")
        ->type_name("N");
    app.add_option("--kernel", options.kernel,
                   "Instruction set to compute with, one of 'bitwin info --kernels' (default: the environment variable "
                   "BITWIN_KERNEL, else the best); the answer is the same with each")
        ->type_name("NAME");
    app.add_flag("--pack-cache", options.pack_cache,
                 "Keep a packed copy of the weights in the cache folder, and load it next time instead of packing");
  }
  return model;
}

void add_sampling_options(CLI::App& app, SamplingFlags& flags) {
  std::string group = "Sampling (default: as the model file asks, else --temp 0.6 --top-p 0.95)";
  size_t before = app.get_options().size();
  add_real(app, "--temp", flags.temperature, 0, 100, "Temperature; 0 always takes the most likely token");
  add_parsed<int64_t>(
      app, "--top-k", flags.top_k, parse_integer, [](int64_t k) { return k >= 0 && k <= INT32_MAX; }, "N",
      "a whole number from 0 to 2147483647", "Draw from the N most likely tokens; 0: from all");
  add_real(app, "--top-p", flags.top_p, 0, 1,
           "Draw from the most likely tokens that together reach probability X; 1: from all");
  add_real(app, "--min-p", flags.min_p, 0, 1,
           "Draw from tokens at least X times as likely as the most likely; 0: from all");
  add_parsed<uint64_t>(
      app, "--seed", flags.seed, parse_unsigned, [](uint64_t) { return true; }, "N",
      "a whole number from 0 to 18446744073709551615",
      "Seed of the random draws: the same seed gives the same answer (default: a random one)");
  for (size_t i = before; i < app.get_options().size(); ++i) app.get_options()[i]->group(group);
}

SamplingOptions SamplingFlags::over(SamplingOptions defaults) const {
  if (temperature) defaults.temperature = static_cast<float>(*temperature);
  if (top_k) defaults.top_k = static_cast<int32_t>(*top_k);
  if (top_p) defaults.top_p = static_cast<float>(*top_p);
  if (min_p) defaults.min_p = static_cast<float>(*min_p);
  if (seed) {
    defaults.seed = *seed;
  } else {
    std::random_device source;
    defaults.seed = static_cast<uint64_t>(source()) << 32 | source();
  }
  return defaults;
}

}  // namespace bitwin::native
