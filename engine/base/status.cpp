#include "engine/base/status.h"

#include <cstdio>

namespace bitwin {

Status error(Code code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string message;
  if (length > 0) {
    message.resize(static_cast<size_t>(length));
    // The terminating zero goes onto the string's own.
    std::vsnprintf(message.data(), message.size() + 1, format, again);
  }
  va_end(again);
  return Status(code, std::move(message));
}

}  // namespace bitwin
