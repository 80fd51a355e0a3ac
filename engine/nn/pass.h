// A forward pass that can be suspended: a C++20 coroutine that stops at the exchange points of each layer.
#pragma once

#include <coroutine>
#include <cstddef>
#include <new>
#include <utility>

#include "engine/base/status.h"

namespace bitwin {

// Where a layer's activations are complete and every shard of a model would need the others' rows. A pass yields here:
// workers without shared memory exchange, a stop takes effect, and a scheduler may turn to something else.
enum class ExchangePoint { attention, attention_output, feed_forward, layer_output };

class Pass {
 public:
  struct promise_type {
    Status status;
    ExchangePoint point = ExchangePoint::attention;

    static void* operator new(size_t bytes) noexcept { return ::operator new(bytes, std::nothrow); }
    static void operator delete(void* frame) noexcept { ::operator delete(frame); }
    static Pass get_return_object_on_allocation_failure() noexcept { return Pass(nullptr); }
    Pass get_return_object() noexcept { return Pass(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(ExchangePoint at) noexcept {
      point = at;
      return {};
    }
    void return_value(Status result) noexcept { status = std::move(result); }
    void unhandled_exception() noexcept { status = Status(Code::out_of_memory, "the forward pass was refused memory"); }
  };

  Pass(Pass&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Pass& operator=(Pass&&) = delete;
  ~Pass() {
    if (handle_) handle_.destroy();
  }

  // Computes up to the next exchange point. False when the pass has ended; then status() is its outcome.
  bool resume() {
    if (!handle_ || handle_.done()) return false;
    handle_.resume();
    return !handle_.done();
  }

  Status status() const {
    return handle_ ? handle_.promise().status : Status(Code::out_of_memory, "the forward pass was refused memory");
  }

 private:
  explicit Pass(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace bitwin
