// The subcommands: each adds itself to the program and returns what to do when it was chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace bitwin::native {

struct Command {
  CLI::App* app;
  // The exit code. Throws Failure, ReaderGone, or what the libraries throw.
  std::function<int()> run;
};

Command add_run(CLI::App& program);
Command add_info(CLI::App& program);
Command add_tokenize(CLI::App& program);
Command add_parity(CLI::App& program);
Command add_eval(CLI::App& program);
Command add_bench(CLI::App& program);

}  // namespace bitwin::native
