// Command-line options that several subcommands share, and strict parsing of numbers.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "native/model_file.h"

namespace bitwin::native {

// Adds -m/--model, and with `compute` --threads and --kernel. The returned option is that of --model.
CLI::Option* add_model_options(CLI::App& app, ModelOptions& options, bool compute);

// Adds an option whose value is a whole number from `low` to `high`.
CLI::Option* add_integer(CLI::App& app, const std::string& name, std::optional<int64_t>& value, int64_t low,
                         int64_t high, const std::string& description);

// --temp, --top-k, --top-p, --min-p, --seed; what is not given stays empty.
struct SamplingFlags {
  std::optional<double> temperature, top_p, min_p;
  std::optional<int64_t> top_k;
  std::optional<uint64_t> seed;

  // `defaults` with what was given put over it; the seed, if not given, from the system's random source.
  SamplingOptions over(SamplingOptions defaults) const;
};
void add_sampling_options(CLI::App& app, SamplingFlags& flags);

// The whole of `text` as a number; nothing else is accepted (no spaces, no units, no "nan").
std::optional<int64_t> parse_integer(const std::string& text);
std::optional<uint64_t> parse_unsigned(const std::string& text);
std::optional<double> parse_real(const std::string& text);

}  // namespace bitwin::native
