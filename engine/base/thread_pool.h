// Worker threads for the forward pass: one parallel region per pass, work claimed by block.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "engine/base/status.h"

namespace bitwin {

// A fixed set of threads, the caller's included. One thread drives it at a time.
// Between begin_region() and end_region() the workers spin briefly before they sleep on a futex,
// so that the many short steps of a pass start within a microsecond; outside they sleep at once.
class ThreadPool {
 public:
  // `threads` >= 1 counts the caller; 0 means system::default_threads(). Where no threads can be
  // started the pool has one thread, without an error. invalid_argument beyond 256.
  static Result<std::unique_ptr<ThreadPool>> create(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  void begin_region();
  void end_region();

  // Calls fn(context, begin, end, worker) over disjoint ranges that cover [0, items), each of at most
  // `grain` items, from all threads; returns when all are done. `worker` is in [0, threads()).
  // fn must not throw. The default floating-point environment is set while it runs.
  using Function = void (*)(void* context, int64_t begin, int64_t end, int worker);
  void parallel_for(int64_t items, int64_t grain, Function fn, void* context);

  // The same for a callable f(begin, end, worker).
  template <class F>
  void parallel_for(int64_t items, int64_t grain, F&& f) {
    parallel_for(
        items, grain,
        [](void* context, int64_t begin, int64_t end, int worker) {
          (*static_cast<std::remove_reference_t<F>*>(context))(begin, end, worker);
        },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  ThreadPool();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bitwin
