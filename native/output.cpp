#include "native/output.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "native/system.h"

namespace bitwin::native {

void check_status(const Status& status, const std::string& where, int exit_code) {
  if (status.ok()) return;
  throw Failure(where.empty() ? status.message() : where + ": " + status.message(), exit_code);
}

void write_out(std::string_view text) {
  switch (write_stream(Stream::output, text)) {
    case WriteResult::ok:
      return;
    case WriteResult::reader_gone:
      throw ReaderGone{};
    case WriteResult::failed:
      throw Failure(std::string("cannot write to standard output: ") + std::strerror(errno));
  }
}

void write_err(std::string_view text) { static_cast<void>(write_stream(Stream::error, text)); }

static void print_marked(const char* colour, const std::string& mark, const std::string& message) {
  std::string shown = is_terminal(Stream::error) ? harmless(message, true) : message;
  if (wants_colour(Stream::error)) {
    write_err(std::string(colour) + mark + "\x1b[0m " + shown + "\n");
  } else {
    write_err(mark + " " + shown + "\n");
  }
}

void print_warning(const std::string& message) { print_marked("\x1b[33m", "bitwin: warning:", message); }

void print_error(const std::string& message) { print_marked("\x1b[31m", "bitwin:", message); }

std::string harmless(std::string_view text, bool lines) {
  static constexpr char kReplacement[] = "\xEF\xBF\xBD";
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    bool line_control = c == '\n' || c == '\t';
    // U+0080 to U+009F are C2 80 to C2 9F; some terminals obey them.
    bool second_set = c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if ((c < 0x20 && !(line_control && lines)) || c == 0x7F || second_set) {
      result += kReplacement;
      if (second_set) ++i;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string format_bytes(double bytes) {
  static constexpr const char* kUnits[] = {"bytes", "kB", "MB", "GB", "TB"};
  int unit = 0;
  while (bytes >= 999.5 && unit < 4) {
    bytes /= 1000;
    ++unit;
  }
  if (unit == 0) return format("%.0f bytes", bytes);
  return format(bytes < 10 ? "%.2f %s" : bytes < 100 ? "%.1f %s" : "%.0f %s", bytes, kUnits[unit]);
}

std::string format(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  va_list again;
  va_copy(again, arguments);
  int length = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

}  // namespace bitwin::native
