// What the program writes: results to standard output, everything else to standard error; and how it fails.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "engine/engine.h"

namespace bitwin::native {

// Exit codes: 0 success, 1 the work failed, 2 the program was called wrongly, 130 ended by Ctrl-C.
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;

// Thrown by anything in native/ that cannot go on; main prints the message and exits with the code.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& message, int exit_code = kExitFailure)
      : std::runtime_error(message), exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

// Thrown when nobody reads standard output any more: main exits with 0, without a word.
struct ReaderGone {};

// Turns an engine's error into a Failure; `where` (a file, say) is put in front.
void check_status(const Status& status, const std::string& where = "", int exit_code = kExitFailure);

// The value of a Result, or its error as a Failure.
template <class T>
T value_of(Result<T> result, const std::string& where = "", int exit_code = kExitFailure) {
  check_status(result.status(), where, exit_code);
  return std::move(result).value();
}

// Writes to standard output at once. Throws ReaderGone, or Failure when the device is full.
void write_out(std::string_view text);
// Writes to standard error; failures are ignored, there is nobody to tell.
void write_err(std::string_view text);

// "bitwin: warning: ..." and "bitwin: ..." on standard error.
void print_warning(const std::string& message);
void print_error(const std::string& message);

// Text that does to a terminal nothing but appear: control characters other than tab and line feed (and, unless
// `lines`, these as well) become U+FFFD. For anything that a model or its file wrote.
std::string harmless(std::string_view text, bool lines);

// "1.07 GB", in powers of 1000.
std::string format_bytes(double bytes);
// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

}  // namespace bitwin::native
