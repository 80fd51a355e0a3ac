// Errors as values: Status and Result<T>.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace bitwin {

// Why an operation failed. The values are part of the C ABI (capi.h).
enum class Code : int32_t {
  ok = 0,
  invalid_argument = 1,  // the caller asked for something that makes no sense
  format = 2,            // bytes from outside are damaged or malformed
  unsupported = 3,       // well-formed, but not something this program can do
  out_of_memory = 4,
  io = 5,
  cancelled = 6,
  context_full = 7,  // the KV cache has reached its maximum length
  non_finite = 8,    // NaN or infinity among the activations
  internal = 9,
};

// The outcome of an operation: ok, or a code and a sentence a user can act on.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::ok; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::ok;
  std::string message_;
};

// A failed Status with a printf-formatted message.
[[gnu::format(printf, 2, 3)]] Status error(Code code, const char* format, ...);

// A value, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace bitwin

// Returns the Status of `expr` from the enclosing function when it is not ok.
#define BITWIN_RETURN_IF_ERROR(expr)                      \
  do {                                                    \
    if (::bitwin::Status bitwin_status_ = (expr); !bitwin_status_.ok()) return bitwin_status_; \
  } while (false)

#define BITWIN_CONCAT_INNER_(a, b) a##b
#define BITWIN_CONCAT_(a, b) BITWIN_CONCAT_INNER_(a, b)

// Declares `lhs` as the value of the Result `expr`, or returns its Status.
#define BITWIN_ASSIGN_OR_RETURN(lhs, expr) \
  BITWIN_ASSIGN_OR_RETURN_IMPL_(BITWIN_CONCAT_(bitwin_result_, __LINE__), lhs, expr)
#define BITWIN_ASSIGN_OR_RETURN_IMPL_(result, lhs, expr) \
  auto result = (expr);                                  \
  if (!result.ok()) return result.status();              \
  lhs = std::move(result).value()
