#include "native/benchmark.h"

#include <algorithm>

#include "engine/base/system.h"
#include "native/input.h"
#include "native/output.h"
#include "native/system.h"

namespace bitwin::native {
namespace {

constexpr char kText[] =
    "The ferry leaves the small harbour at seven in the morning, carries letters, bread and a few travellers across "
    "the "
    "bay, and comes back before noon, unless the fog is so thick that its captain prefers to wait for the wind. ";

constexpr int64_t kWarmUpPrompt = 64;
constexpr int64_t kWarmUpTokens = 4;

// So that the first load that counts is no slower than the others: the file is in the page cache, or its packed copy
// is made.
void prepare(const ModelOptions& model) {
  if (model.pack_cache) {
    load_model(model, Want::weights);
    return;
  }
  InputFile file(model.path);
  std::vector<uint8_t> piece(4u << 20);
  while (file.read(piece.data(), piece.size()) > 0) continue;
}

std::vector<TokenId> synthetic_prompt(const Tokenizer& tokenizer, int64_t length) {
  const std::vector<TokenId> text = value_of(tokenizer.encode(kText, {.parse_special = false, .add_bos = false}));
  std::vector<TokenId> ids(static_cast<size_t>(length));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = text[i % text.size()];
  return ids;
}

struct Times {
  double prefill = 0;
  double first_token = 0;
  double decode = 0;
};

// One answer of `tokens` tokens after the first. The profiles may be null.
Times answer(const Model& model, Session& session, const std::vector<TokenId>& prompt, int64_t tokens, Profile* prefill,
             Profile* decode) {
  session.reset();
  GenerateOptions options;
  options.sampling.temperature = 0;
  options.max_tokens = tokens + 1;
  options.ignore_end = true;
  check_status(set_profile(model, prefill));
  Times times;
  const double start = system::now();
  check_status(session.begin(prompt, options));
  while (value_of(session.step()).prompt_done < static_cast<int64_t>(prompt.size())) continue;
  times.prefill = system::now() - start;
  value_of(session.step());
  times.first_token = system::now() - start;
  check_status(set_profile(model, decode));
  const double decode_start = system::now();
  while (!session.done()) value_of(session.step());
  times.decode = system::now() - decode_start;
  check_status(set_profile(model, nullptr));
  return times;
}

BenchmarkRun measure(const BenchmarkOptions& options, const Model& model, Session& session, int64_t prompt_tokens) {
  BenchmarkRun run;
  run.prompt_tokens = prompt_tokens;
  run.tokens = options.tokens;
  const std::vector<TokenId> prompt = synthetic_prompt(*model.tokenizer(), prompt_tokens);
  std::vector<double> prefill, decode, first, reads, macs;
  for (int64_t i = 0; i < options.repeats; ++i) {
    const Times times = answer(model, session, prompt, options.tokens, options.profile ? &run.prefill_profile : nullptr,
                               options.profile ? &run.decode_profile : nullptr);
    prefill.push_back(static_cast<double>(prompt_tokens) / times.prefill);
    decode.push_back(static_cast<double>(options.tokens) / times.decode);
    first.push_back(times.first_token);
    run.peak_bytes = std::max(run.peak_bytes, system::peak_resident_bytes());
    if (options.limit_bytes == 0) continue;
    // Beside each repeat, since what a shared machine can do changes from one moment to the next.
    const Limits limits = value_of(measure_limits(model, options.limit_bytes));
    reads.push_back(limits.read_bytes_per_second);
    macs.push_back(limits.macs_per_second);
    reset_peak_memory();
  }
  if (!reads.empty()) {
    run.limits = {.read_bytes_per_second = spread(std::move(reads)).median,
                  .macs_per_second = spread(std::move(macs)).median};
  }
  run.prefill = spread(std::move(prefill));
  run.decode = spread(std::move(decode));
  run.first_token_seconds = spread(std::move(first)).median;
  return run;
}

void check_context(const BenchmarkOptions& options, const ModelInfo& info) {
  const int64_t longest = *std::max_element(options.prompts.begin(), options.prompts.end());
  if (longest > info.config.context - options.tokens) {
    throw Failure(format("a prompt of %lld tokens and %lld generated ones do not fit into this model's context of %lld",
                         static_cast<long long>(longest), static_cast<long long>(options.tokens),
                         static_cast<long long>(info.config.context)),
                  kExitUsage);
  }
}

std::string count_of(int64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  if (n == 0) return {};
  return {(values[(n - 1) / 2] + values[n / 2]) / 2, values.front(), values.back()};
}

Benchmark run_benchmark(const BenchmarkOptions& options, const std::function<void(const std::string&)>& report) {
  ModelOptions model_options = options.model;
  check_context(options, load_model(model_options, Want::vocabulary)->info());
  prepare(model_options);

  Benchmark result;
  for (const int64_t threads : options.threads) {
    report("loading, " + count_of(threads, "thread"));
    model_options.threads = static_cast<int>(threads);
    reset_peak_memory();
    const double start = system::now();
    // One model at a time: this one goes before the next comes.
    const std::shared_ptr<const Model> model = load_model(model_options, Want::weights);
    const double load_seconds = system::now() - start;
    const size_t load_peak = system::peak_resident_bytes();
    if (model->info().threads != threads) {
      throw Failure("this machine does not start " + count_of(threads, "thread"), kExitUsage);
    }
    check_context(options, model->info());
    result.kernel = model->info().kernel;
    result.cost = token_cost(*model);

    const size_t first_run = result.runs.size();
    for (const int64_t prompt_tokens : options.prompts) {
      report(count_of(threads, "thread") + ", " + count_of(prompt_tokens, "prompt token"));
      const std::unique_ptr<Session> session =
          value_of(Session::create(model, {.max_context = prompt_tokens + options.tokens}));
      if (result.runs.size() == first_run) {
        const std::vector<TokenId> prompt =
            synthetic_prompt(*model->tokenizer(), std::min(prompt_tokens, kWarmUpPrompt));
        answer(*model, *session, prompt, std::min(options.tokens, kWarmUpTokens), nullptr, nullptr);
      }
      BenchmarkRun run = measure(options, *model, *session, prompt_tokens);
      run.threads = threads;
      run.load_seconds = load_seconds;
      run.peak_bytes = std::max(run.peak_bytes, load_peak);
      result.runs.push_back(run);
    }
  }
  return result;
}

double decode_read_share(const BenchmarkRun& run, const TokenCost& cost) {
  if (!run.limits) return 0;
  return static_cast<double>(cost.weight_bytes) * run.decode.median / run.limits->read_bytes_per_second;
}

double prefill_peak_share(const BenchmarkRun& run, const TokenCost& cost) {
  if (!run.limits) return 0;
  return static_cast<double>(cost.macs) * run.prefill.median / run.limits->macs_per_second;
}

}  // namespace bitwin::native
