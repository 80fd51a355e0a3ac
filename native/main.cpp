// The `bitwin` program: parses the command line, runs one subcommand, turns what went wrong into a sentence.
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "native/commands.h"
#include "native/help.h"
#include "native/output.h"
#include "native/system.h"

namespace bitwin::native {
namespace {

constexpr char kExamples[] = R"(Examples:
  bitwin run -m model.gguf                          chat at the terminal
  bitwin run -m model.gguf "Why is the sky blue?"   one answer
  cat notes.txt | bitwin run -m model.gguf          the prompt from standard input
  bitwin info -m model.gguf                         what the file holds

'bitwin COMMAND --help' explains a command. Exit codes: 0 success, 1 the work failed,
2 wrong usage, 130 stopped by Ctrl-C.)";

// ": a b" out of CLI11's "The following arguments were not expected: a b".
std::string unexpected(const CLI::ParseError& error) {
  std::string text = error.what();
  size_t colon = text.find(": ");
  return colon == std::string::npos ? "" : text.substr(colon);
}

std::string describe(const CLI::App& program, const CLI::App* chosen, const CLI::ParseError& error) {
  if (!dynamic_cast<const CLI::ExtrasError*>(&error)) return error.what();
  if (chosen == &program) return std::string("there is no such command or option") + unexpected(error);
  return "not expected" + unexpected(error) +
         (chosen->get_name() == "run" ? " (a prompt of several words needs quotes)" : "");
}

// Prints help or version when asked, else what is wrong with the command line.
int report(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App* chosen = &program;
  while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().front();
  if (dynamic_cast<const CLI::CallForHelp*>(&error)) {
    write_out(chosen == &program ? program.help() : chosen->help("bitwin"));
    return 0;
  }
  if (dynamic_cast<const CLI::CallForVersion*>(&error)) {
    write_out(std::string("bitwin ") + version() + "\n");
    return 0;
  }
  std::string name = chosen == &program ? "bitwin" : "bitwin " + chosen->get_name();
  print_error(describe(program, chosen, error) + "\n'" + name + " --help' shows the options.");
  return kExitUsage;
}

int run_program(std::vector<std::string> arguments) {
  CLI::App program("Bitwin runs a language model from a GGUF file on this machine's processor.", "bitwin");
  program.set_version_flag("--version", version(), "Print the version and exit");
  program.set_help_flag("-h,--help", "Print this help and exit");
  program.footer(kExamples);
  program.formatter(help_formatter());
  // An option given twice counts as given last, so that scripts can put options behind others.
  program.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  // At most one, so that a prompt may be a word that is also a command's name.
  program.require_subcommand(0, 1);
  std::vector<Command> commands = {add_run(program),    add_info(program), add_tokenize(program),
                                   add_parity(program), add_eval(program), add_bench(program)};
  for (const Command& command : commands) {
    command.app->set_version_flag("--version", version(), "Print the version and exit");
  }

  // CLI11 wants them last first, without the program's name.
  arguments.erase(arguments.begin());
  try {
    program.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    return report(program, error);
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  write_out(program.help());
  return 0;
}

int guarded(int argc, char** argv) {
  try {
    return run_program(set_up_process(argc, argv));
  } catch (const ReaderGone&) {
    return 0;
  } catch (const Failure& failure) {
    print_error(failure.what());
    return failure.exit_code();
  } catch (const std::bad_alloc&) {
    print_error("out of memory");
  } catch (const std::exception& error) {
    print_error(std::string("internal error: ") + error.what());
  }
  return kExitFailure;
}

}  // namespace
}  // namespace bitwin::native

int main(int argc, char** argv) { return bitwin::native::guarded(argc, argv); }
