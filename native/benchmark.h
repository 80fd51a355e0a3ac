// Measuring a model's speed: loading, prefill, decode, and what the machine could do at best.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "native/model_file.h"

namespace bitwin::native {

struct BenchmarkOptions {
  ModelOptions model;            // its number of threads does not count
  std::vector<int64_t> threads;  // each its own load
  std::vector<int64_t> prompts;  // tokens of each prompt
  int64_t tokens = 0;            // generated after each prompt, which is their context
  int64_t repeats = 0;           // after a warm-up
  uint64_t limit_bytes = 0;      // read to measure the bandwidth; 0: no limits are measured
  bool profile = false;
};

// Over the repeats.
struct Spread {
  double median = 0, min = 0, max = 0;
};
Spread spread(std::vector<double> values);

// One prompt length with one number of threads.
struct BenchmarkRun {
  int64_t threads = 0;
  int64_t prompt_tokens = 0;
  int64_t tokens = 0;
  Spread prefill;                  // prompt tokens a second, until the last one's logits are known
  Spread decode;                   // tokens a second after the first
  double first_token_seconds = 0;  // the median of the time until the first token is chosen
  double load_seconds = 0;         // with the file in the page cache
  size_t peak_bytes = 0;           // resident, since the load began, the measuring of limits left out
  std::optional<Limits> limits;    // medians of measurements after each repeat
  Profile prefill_profile, decode_profile;  // over all repeats
};

struct Benchmark {
  std::string kernel;
  TokenCost cost;
  std::vector<BenchmarkRun> runs;
};

// Throws Failure: exit code 2 when prompt and tokens exceed the model's context, or this machine starts fewer threads.
// `report` gets a line when a part of the work begins.
Benchmark run_benchmark(const BenchmarkOptions& options, const std::function<void(const std::string&)>& report);

// Shares of the limits; 0 without limits.
double decode_read_share(const BenchmarkRun& run, const TokenCost& cost);
double prefill_peak_share(const BenchmarkRun& run, const TokenCost& cost);

}  // namespace bitwin::native
