// bitwin bench: how fast a model loads, reads a prompt and generates, and how far that is from the machine's limits.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/base/system.h"
#include "native/benchmark.h"
#include "native/commands.h"
#include "native/options.h"
#include "native/output.h"
#include "native/system.h"

namespace bitwin::native {
namespace {

constexpr int64_t kMaxPrompt = 1 << 20;
constexpr int64_t kMaxThreads = 256;
constexpr double kMiB = 1024.0 * 1024.0;

struct Options {
  BenchmarkOptions benchmark;
  std::optional<int64_t> tokens, repeats, limit_mib;
  bool json = false;
};

using Json = nlohmann::ordered_json;

Json to_json(const Spread& values) { return {{"median", values.median}, {"min", values.min}, {"max", values.max}}; }

// Microseconds per token of each operation.
Json to_json(const Profile& profile, int64_t tokens) {
  const double scale = 1e6 / static_cast<double>(tokens);
  Json json = Json::object();
  for (size_t i = 0; i < kOperations; ++i) json[kOperationNames[i]] = profile.seconds[i] * scale;
  json["other"] = profile.other() * scale;
  json["total"] = profile.total * scale;
  return json;
}

Json to_json(const BenchmarkRun& run, const TokenCost& cost, const BenchmarkOptions& options) {
  Json json = {{"threads", run.threads},
               {"prompt_tokens", run.prompt_tokens},
               {"gen_tokens", run.tokens},
               {"prefill_tps", to_json(run.prefill)},
               {"decode_tps", to_json(run.decode)},
               {"ttft_ms", run.first_token_seconds * 1e3},
               {"load_s", run.load_seconds},
               {"peak_mib", static_cast<double>(run.peak_bytes) / kMiB},
               {"read_gbps", nullptr},
               {"int8_gmacs", nullptr},
               {"decode_read_share", nullptr},
               {"prefill_peak_share", nullptr}};
  if (run.limits) {
    json["read_gbps"] = run.limits->read_bytes_per_second / 1e9;
    json["int8_gmacs"] = run.limits->macs_per_second / 1e9;
    json["decode_read_share"] = decode_read_share(run, cost);
    json["prefill_peak_share"] = prefill_peak_share(run, cost);
  }
  if (options.profile) {
    json["profile_us_per_token"] = {{"prefill", to_json(run.prefill_profile, run.prompt_tokens * options.repeats)},
                                    {"decode", to_json(run.decode_profile, run.tokens * options.repeats)}};
  }
  return json;
}

Json to_json(const Benchmark& result, const BenchmarkOptions& options) {
  Json runs = Json::array();
  for (const BenchmarkRun& run : result.runs) runs.push_back(to_json(run, result.cost, options));
  return {{"model", options.model.path},
          {"kernel", result.kernel},
          {"machine",
           {{"processor", processor_name()},
            {"logical_cores", std::thread::hardware_concurrency()},
            {"default_threads", system::default_threads()},
            {"kernels", kernels()}}},
          {"repeats", options.repeats},
          {"weight_bytes_per_token", result.cost.weight_bytes},
          {"macs_per_token", result.cost.macs},
          {"runs", runs}};
}

// "median (min-max)".
std::string spread_text(const Spread& values) {
  return format("%.1f (%.1f-%.1f)", values.median, values.min, values.max);
}

std::string share_text(bool known, double share) { return known ? format("%.1f %%", share * 100) : "-"; }

std::string profile_text(const BenchmarkRun& run, int64_t repeats) {
  const Profile& prefill = run.prefill_profile;
  const Profile& decode = run.decode_profile;
  std::string text = format("\n%lld thread%s, %lld prompt tokens\n%-18s %10s %8s %10s %8s\n",
                            static_cast<long long>(run.threads), run.threads == 1 ? "" : "s",
                            static_cast<long long>(run.prompt_tokens), "us per token", "prefill", "", "decode", "");
  auto row = [&](const char* name, double first, double second) {
    text += format("%-18s %10.1f %6.1f %% %10.1f %6.1f %%\n", name,
                   first * 1e6 / static_cast<double>(run.prompt_tokens * repeats), first / prefill.total * 100,
                   second * 1e6 / static_cast<double>(run.tokens * repeats), second / decode.total * 100);
  };
  for (size_t i = 0; i < kOperations; ++i) row(kOperationNames[i], prefill.seconds[i], decode.seconds[i]);
  row("other", prefill.other(), decode.other());
  row("total", prefill.total, decode.total);
  return text;
}

std::string to_text(const Benchmark& result, const BenchmarkOptions& options) {
  const std::string processor = processor_name();
  std::string text = harmless(options.model.path, false) + ", kernel " + result.kernel +
                     (processor.empty() ? "" : ", " + harmless(processor, false)) + "\n";
  text += format("a token reads %s of weights and takes %.3f GMAC in the layers\n\n",
                 format_bytes(static_cast<double>(result.cost.weight_bytes)).c_str(),
                 static_cast<double>(result.cost.macs) / 1e9);
  text += format("%-7s %6s %5s %7s %8s %9s  %-24s %-8s %-24s %-8s\n", "threads", "prompt", "gen", "load s", "peak MiB",
                 "first ms", "prefill tokens/s", "of peak", "decode tokens/s", "of reads");
  for (const BenchmarkRun& run : result.runs) {
    text += format("%-7lld %6lld %5lld %7.2f %8.0f %9.1f  %-24s %-8s %-24s %s\n", static_cast<long long>(run.threads),
                   static_cast<long long>(run.prompt_tokens), static_cast<long long>(run.tokens), run.load_seconds,
                   static_cast<double>(run.peak_bytes) / kMiB, run.first_token_seconds * 1e3,
                   spread_text(run.prefill).c_str(),
                   share_text(run.limits.has_value(), prefill_peak_share(run, result.cost)).c_str(),
                   spread_text(run.decode).c_str(),
                   share_text(run.limits.has_value(), decode_read_share(run, result.cost)).c_str());
  }
  if (options.limit_bytes > 0) text += "\n";
  for (const BenchmarkRun& run : result.runs) {
    if (!run.limits) continue;
    text += format("%lld thread%s beside %lld prompt tokens: reads %.2f GB/s, int8 %.1f GMAC/s at best\n",
                   static_cast<long long>(run.threads), run.threads == 1 ? "" : "s",
                   static_cast<long long>(run.prompt_tokens), run.limits->read_bytes_per_second / 1e9,
                   run.limits->macs_per_second / 1e9);
  }
  if (options.profile) {
    for (const BenchmarkRun& run : result.runs) text += profile_text(run, options.repeats);
  }
  return text;
}

// Whole numbers from 1 to `high`, separated by commas.
std::vector<int64_t> parse_list(const std::string& option, const std::string& text, int64_t high) {
  std::vector<int64_t> values;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::optional<int64_t> value = parse_integer(text.substr(begin, end - begin));
    if (!value || *value < 1 || *value > high) {
      throw CLI::ValidationError(option, "'" + text + "' is not a list of whole numbers from 1 to " +
                                             std::to_string(high) + ", separated by commas");
    }
    values.push_back(*value);
    begin = end + 1;
  }
  return values;
}

int run(Options& options) {
  BenchmarkOptions& benchmark = options.benchmark;
  if (benchmark.model.path == "-") throw Failure("bench loads the model more than once: name a file", kExitUsage);
  check_kernel(benchmark.model.kernel);
  if (benchmark.prompts.empty()) benchmark.prompts = {96, 512};
  if (benchmark.threads.empty()) benchmark.threads = {std::min<int64_t>(system::default_threads(), kMaxThreads)};
  benchmark.tokens = options.tokens.value_or(64);
  benchmark.repeats = options.repeats.value_or(3);
  benchmark.limit_bytes = static_cast<uint64_t>(options.limit_mib.value_or(1024)) << 20;
  benchmark.model.quiet = true;
  const bool terminal = understands_escapes(Stream::error);
  auto report = [terminal](const std::string& line) {
    if (terminal) write_err("\r" + line + "\x1b[K");
  };
  const Benchmark result = run_benchmark(benchmark, report);
  if (terminal) write_err("\r\x1b[K");
  if (options.json) {
    write_out(to_json(result, benchmark).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    write_out(to_text(result, benchmark));
  }
  return 0;
}

}  // namespace

Command add_bench(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand("bench", "Measure speed, and how far it is from the machine's limits");
  app->add_option("-m,--model", options->benchmark.model.path, "The model: a GGUF file")->type_name("FILE")->required();
  auto list = [app](const std::string& name, std::vector<int64_t>& values, int64_t high, const std::string& text) {
    const std::string long_name = name.substr(name.rfind(',') + 1);
    auto assign = [&values, long_name, high](const std::string& value) { values = parse_list(long_name, value, high); };
    app->add_option_function<std::string>(name, assign, text)->type_name("LIST");
  };
  list("-p,--prompt-tokens", options->benchmark.prompts, kMaxPrompt, "Prompt lengths in tokens (default: 96,512)");
  add_integer(*app, "-n,--gen-tokens", options->tokens, 1, kMaxPrompt,
              "Tokens to generate after each prompt (default: 64)");
  list("-t,--threads", options->benchmark.threads, kMaxThreads,
       "Numbers of threads; the model is loaded anew for each (default: the physical cores)");
  add_integer(*app, "--repeat", options->repeats, 1, 1000, "Measurements of each, after a warm-up (default: 3)");
  app->add_option("--kernel", options->benchmark.model.kernel,
                  "Instruction set to compute with, one of 'bitwin info --kernels' (default: the environment variable "
                  "BITWIN_KERNEL, else the best)")
      ->type_name("NAME");
  app->add_flag("--pack-cache", options->benchmark.model.pack_cache,
                "Load from a packed copy of the weights in the cache folder, which is made first if need be");
  app->add_option_function<std::string>(
         "--limit-mib",
         [options](const std::string& text) {
           const std::optional<int64_t> value = parse_integer(text);
           if (!value || *value < 0 || *value > (int64_t{1} << 20)) {
             throw CLI::ValidationError("--limit-mib", "'" + text + "' is not a whole number from 0 to 1048576");
           }
           options->limit_mib = value;
         },
         "Memory to read for the machine's bandwidth, far above its caches; 0: measure no limits (default: 1024)")
      ->type_name("N");
  app->add_flag("--profile", options->benchmark.profile, "Add the time of each operation of a pass");
  app->add_flag("--json", options->json, "Print JSON");
  app->footer(
      "Prints tokens a second for reading a prompt and for generating (the median of the repeats, least and most in\n"
      "brackets), the time to the first token, of a load from the page cache, and the peak of memory. The shares\n"
      "compare prefill with the machine's rate of byte products and decode with its read bandwidth, both measured\n"
      "in the same run.\n\n"
      "Example:\n  bitwin bench -m model.gguf -p 96,512 -n 64 -t 1,2");
  return {app, [options] { return run(*options); }};
}

}  // namespace bitwin::native
