#include "engine/base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "engine/base/system.h"

namespace bitwin {

// How a job runs, and why a late worker is harmless.
//
// The leader (the caller of parallel_for) never waits for workers to arrive, only for work to be done: on a busy
// machine a worker may get its core back long after the others have finished everything, and a barrier that counts
// threads would stand still until then. So a worker may look at the pool at any moment, even in the middle of a later
// job than the one that woke it. What keeps that safe:
//
// 1. `claim` holds the job's number and how many of its chunks are still unclaimed, in one word. A chunk is claimed by
//    compare-exchange of the whole word, so a claim for job e cannot succeed once the word belongs to another job, and
//    whether chunks are left is known from the word alone, never from a field that may already be the next job's.
// 2. The leader writes the job's fields (function, context, ...) before it publishes the word of job e with release
//    order, and writes those of job e + 1 only after every chunk of e has been reported finished. A worker reads the
//    word (acquire), then the fields, then claims. If the claim succeeds, its chunk was not yet finished at that time,
//    so the fields it read were those of job e. If it fails, what it read may be torn between jobs and is thrown away.
//    The fields are atomics read with relaxed order for that reason alone.
// 3. A worker adds the number of chunks it has run to `finished` after its last claim of a job. The leader goes on when
//    the sum is the job's number of chunks; until then it cannot start another job. So a worker that has run a chunk
//    stays in that job until it has reported, no report ever comes late, and `finished` may be set back to zero between
//    jobs. The additions release the chunks' results, the leader's load acquires them.
// 4. A job number has 40 bits: a worker would have to be held up for 2^40 jobs between reading the word and claiming
//    to mistake one job for another.
//
// Sleeping uses two futex words. Workers sleep on `signal`, which the leader raises after each publication: a worker
// remembers the value it has acted on and sleeps only while that is still the value, so a publication is never missed.
// The leader sleeps on `finished`. Each side announces that it is about to sleep in a sequentially consistent variable
// before the futex looks at the word, and the other side changes the word before it looks at the announcement: one
// of the two always sees the other, so wake-up calls are made only when somebody sleeps and never forgotten.
namespace {

constexpr int kMaxThreads = 256;
constexpr int kChunkBits = 24;
constexpr uint64_t kMaxChunks = (uint64_t{1} << kChunkBits) - 1;

// Spinning covers the short serial steps between two jobs of a pass (some microseconds); yielding lets another
// process have the core without the cost of a sleep and a wake-up.
constexpr int kSpins = 300;
constexpr int kYields = 30;

// Waits until word != seen: spins, yields, then sleeps. `impatient()` true skips to the sleep.
// `announce(bool)` tells the other side that this thread is about to sleep, or no longer.
template <class Impatient, class Announce>
void wait_for_change(const std::atomic<uint32_t>& word, uint32_t seen, Impatient impatient, Announce announce) {
  for (int i = 0; i < kSpins + kYields && !impatient(); ++i) {
    if (word.load(std::memory_order_acquire) != seen) return;
    if (i < kSpins) {
      system::cpu_pause();
    } else {
      system::yield();
    }
  }
  announce(true);
  while (word.load(std::memory_order_seq_cst) == seen) {
    system::futex_wait(reinterpret_cast<const uint32_t*>(&word), seen, -1);
  }
  announce(false);
}

void wake_all(const std::atomic<uint32_t>& word) { system::futex_wake_all(reinterpret_cast<const uint32_t*>(&word)); }

}  // namespace

struct ThreadPool::State {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint64_t>::is_always_lock_free);

  // Each group on a cache line of its own: claims and reports come from all threads.
  alignas(64) std::atomic<uint64_t> claim{0};     // job number << kChunkBits | unclaimed chunks
  alignas(64) std::atomic<uint32_t> finished{0};  // chunks of the current job that have been run
  alignas(64) std::atomic<uint32_t> signal{0};    // raised when there is something to do
  std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> leader_sleeps{false};
  std::atomic<bool> in_region{false};
  std::atomic<bool> quit{false};

  // The current job.
  alignas(64) std::atomic<Function> function{nullptr};
  std::atomic<void*> context{nullptr};
  std::atomic<int64_t> base{0}, items{0}, grain{1};
  std::atomic<uint32_t> chunks{0};

  std::vector<std::thread> workers;
  int threads = 1;

  void raise_signal() {
    signal.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) > 0) wake_all(signal);
  }

  // Claims and runs chunks of the current job until none is left; returns how many it ran, and in `total` the job's
  // number of chunks when that is not 0.
  uint32_t run_chunks(int worker, uint32_t* total) {
    uint32_t done = 0;
    uint64_t word = claim.load(std::memory_order_acquire);
    for (;;) {
      const uint64_t unclaimed = word & kMaxChunks;
      if (unclaimed == 0) return done;
      const Function fn = function.load(std::memory_order_relaxed);
      void* const arguments = context.load(std::memory_order_relaxed);
      const int64_t first = base.load(std::memory_order_relaxed);
      const int64_t count = items.load(std::memory_order_relaxed);
      const int64_t size = grain.load(std::memory_order_relaxed);
      const uint32_t number = chunks.load(std::memory_order_relaxed);
      if (!claim.compare_exchange_weak(word, word - 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
      const int64_t begin = static_cast<int64_t>(number - unclaimed) * size;
      fn(arguments, first + begin, first + std::min(begin + size, count), worker);
      *total = number;
      ++done;
      word = claim.load(std::memory_order_acquire);
    }
  }

  void report(uint32_t done, uint32_t total) {
    if (finished.fetch_add(done, std::memory_order_seq_cst) + done == total &&
        leader_sleeps.load(std::memory_order_seq_cst)) {
      wake_all(finished);
    }
  }

  void work(int worker) {
    const system::FloatEnvironment environment;
    uint32_t seen = 0;
    for (;;) {
      wait_for_change(
          signal, seen, [this] { return !in_region.load(std::memory_order_relaxed); },
          [this](bool asleep) {
            if (asleep) {
              sleepers.fetch_add(1, std::memory_order_seq_cst);
            } else {
              sleepers.fetch_sub(1, std::memory_order_seq_cst);
            }
          });
      seen = signal.load(std::memory_order_acquire);
      if (quit.load(std::memory_order_acquire)) return;
      uint32_t total = 0;
      if (const uint32_t done = run_chunks(worker, &total); done > 0) report(done, total);
    }
  }

  // One job of at most kMaxChunks chunks.
  void run_job(int64_t first, int64_t count, int64_t size, Function fn, void* arguments) {
    const uint32_t number = static_cast<uint32_t>((count + size - 1) / size);
    finished.store(0, std::memory_order_relaxed);
    function.store(fn, std::memory_order_relaxed);
    context.store(arguments, std::memory_order_relaxed);
    base.store(first, std::memory_order_relaxed);
    items.store(count, std::memory_order_relaxed);
    grain.store(size, std::memory_order_relaxed);
    chunks.store(number, std::memory_order_relaxed);
    const uint64_t job = (claim.load(std::memory_order_relaxed) >> kChunkBits) + 1;
    claim.store(job << kChunkBits | number, std::memory_order_release);
    raise_signal();
    uint32_t total = 0;
    if (const uint32_t done = run_chunks(0, &total); done > 0) finished.fetch_add(done, std::memory_order_acq_rel);
    for (uint32_t seen; (seen = finished.load(std::memory_order_acquire)) != number;) {
      wait_for_change(
          finished, seen, [] { return false; },
          [this](bool asleep) { leader_sleeps.store(asleep, std::memory_order_seq_cst); });
    }
  }
};

ThreadPool::ThreadPool() : state_(std::make_unique<State>()) {}

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(int threads) {
  if (threads < 0 || threads > kMaxThreads) {
    return error(Code::invalid_argument, "the number of threads must be between 0 and %d, not %d", kMaxThreads,
                 threads);
  }
  if (threads == 0) threads = std::min(system::default_threads(), kMaxThreads);
  std::unique_ptr<ThreadPool> pool(new ThreadPool());
  State& state = *pool->state_;
  if (!system::threads_available()) threads = 1;
  state.workers.reserve(static_cast<size_t>(threads - 1));
  try {
    for (; state.threads < threads; ++state.threads) {
      state.workers.emplace_back([&state, worker = state.threads] { state.work(worker); });
    }
  } catch (const std::system_error&) {
    // The system refuses more threads: those that started are the pool.
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  state_->quit.store(true, std::memory_order_release);
  state_->raise_signal();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::threads() const { return state_->threads; }

void ThreadPool::begin_region() {
  if (state_->threads == 1) return;
  state_->in_region.store(true, std::memory_order_relaxed);
  state_->raise_signal();
}

void ThreadPool::end_region() { state_->in_region.store(false, std::memory_order_relaxed); }

void ThreadPool::parallel_for(int64_t items, int64_t grain, Function fn, void* context) {
  if (items <= 0) return;
  grain = std::clamp<int64_t>(grain, 1, items);
  const system::FloatEnvironment environment;
  if (state_->threads == 1 || grain == items) {
    for (int64_t begin = 0; begin < items; begin += grain) fn(context, begin, std::min(begin + grain, items), 0);
    return;
  }
  const int64_t most =
      grain > INT64_MAX / static_cast<int64_t>(kMaxChunks) ? items : grain * static_cast<int64_t>(kMaxChunks);
  for (int64_t first = 0; first < items; first += most) {
    state_->run_job(first, std::min(most, items - first), grain, fn, context);
  }
}

}  // namespace bitwin
