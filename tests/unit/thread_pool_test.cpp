#include "engine/base/thread_pool.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/system.h"
#include "tests/unit/catch.h"

using bitwin::Code;
using bitwin::ThreadPool;

namespace {

std::unique_ptr<ThreadPool> make_pool(int threads) {
  auto pool = ThreadPool::create(threads);
  REQUIRE(pool.ok());
  return std::move(pool).value();
}

// Denormal results survive only in the default floating-point environment.
float halve_smallest_normal() {
  volatile float value = 0x1p-126f;
  value = value * 0.5f;
  return value;
}

}  // namespace

TEST_CASE("parallel_for covers every item once, in ranges of at most the grain") {
  for (const int threads : {1, 2, 3, 8}) {
    const auto pool = make_pool(threads);
    for (const int64_t items : {0, 1, 2, 3, 7, 64, 1000}) {
      for (const int64_t grain : {1, 2, 3, 64, 5000}) {
        CAPTURE(threads, items, grain);
        std::vector<std::atomic<int>> count(static_cast<size_t>(items));
        std::atomic<bool> good{true};
        pool->parallel_for(items, grain, [&](int64_t begin, int64_t end, int worker) {
          if (begin >= end || end - begin > grain || worker < 0 || worker >= pool->threads()) good = false;
          for (int64_t i = begin; i < end; ++i) count[static_cast<size_t>(i)].fetch_add(1);
        });
        CHECK(good);
        bool once = true;
        for (const auto& c : count) once = once && c == 1;
        CHECK(once);
      }
    }
  }
}

TEST_CASE("Results of a job are plain memory to the caller and to the next job") {
  const auto pool = make_pool(4);
  std::vector<int64_t> values(1000, 0);  // not atomic: the pool orders the accesses
  pool->begin_region();
  for (int64_t job = 1; job <= 300; ++job) {
    pool->parallel_for(1000, 10, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) values[static_cast<size_t>(i)] += values[static_cast<size_t>(i)] == job - 1;
    });
  }
  pool->end_region();
  CHECK(values == std::vector<int64_t>(1000, 300));
}

TEST_CASE("A pool with more threads than cores gets 100,000 short jobs right") {
  // Workers are late all the time here: none may run a chunk of another job, or one twice.
  const auto pool = make_pool(8);
  constexpr int64_t kJobs = 100000;
  std::vector<int64_t> last(16, 0);
  int64_t wrong = 0;
  pool->begin_region();
  for (int64_t job = 1; job <= kJobs; ++job) {
    const int64_t items = 2 + job % 15;
    std::atomic<int64_t> sum{0};
    pool->parallel_for(items, 1, [&, job](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        sum.fetch_add(i + 1, std::memory_order_relaxed);
        last[static_cast<size_t>(i)] = job;
      }
    });
    if (sum.load() != items * (items + 1) / 2) ++wrong;
    for (int64_t i = 0; i < items; ++i) wrong += last[static_cast<size_t>(i)] != job;
    // Now and then long enough for the workers to fall asleep.
    if (job % 10000 == 0) {
      const double start = bitwin::system::now();
      while (bitwin::system::now() - start < 0.002) {
      }
    }
  }
  pool->end_region();
  CHECK(wrong == 0);
}

TEST_CASE("Jobs outside a region run too") {
  const auto pool = make_pool(3);
  int64_t wrong = 0;
  for (int job = 0; job < 2000; ++job) {
    std::atomic<int64_t> sum{0};
    pool->parallel_for(50, 1, [&](int64_t begin, int64_t, int) { sum += begin; });
    wrong += sum != 50 * 49 / 2;
  }
  CHECK(wrong == 0);
}

TEST_CASE("Pools come and go, used or not") {
  for (int i = 0; i < 50; ++i) {
    const auto pool = make_pool(1 + i % 5);
    if (i % 2 == 0) {
      std::atomic<int> runs{0};
      pool->begin_region();
      pool->parallel_for(10, 1, [&](int64_t, int64_t, int) { ++runs; });
      CHECK(runs == 10);
      if (i % 4 == 0) pool->end_region();
    }
  }
}

TEST_CASE("A pool has the number of threads asked for, or one where there are none") {
  const bool available = bitwin::system::threads_available();
  CHECK(make_pool(1)->threads() == 1);
  CHECK(make_pool(5)->threads() == (available ? 5 : 1));
  CHECK(make_pool(0)->threads() == (available ? bitwin::system::default_threads() : 1));
  CHECK(ThreadPool::create(-1).status().code() == Code::invalid_argument);
  CHECK(ThreadPool::create(257).status().code() == Code::invalid_argument);
}

#if defined(__x86_64__)
#include <xmmintrin.h>

TEST_CASE("Work runs in the default floating-point environment, and the caller's comes back") {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x9fc0 | 0x6000);  // flush to zero, denormals are zero, round towards zero
  const float flushed = halve_smallest_normal();
  std::atomic<int> wrong{0};
  // The workers inherit the control word of the thread that starts them.
  const auto pool = make_pool(3);
  pool->parallel_for(200, 1, [&](int64_t, int64_t, int) {
    volatile float third = 1.0f;
    third = third / 3.0f;
    if (halve_smallest_normal() != 0x1p-127f || third != 0x1.555556p-2f) ++wrong;
  });
  const unsigned during = _mm_getcsr();
  _mm_setcsr(before);
  CHECK(flushed == 0.0f);
  CHECK(wrong == 0);
  CHECK((during & 0xffc0) == (0x9fc0 | 0x6000));
}
#else
TEST_CASE("Work keeps denormal numbers") {
  const auto pool = make_pool(3);
  std::atomic<int> wrong{0};
  pool->parallel_for(200, 1, [&](int64_t, int64_t, int) { wrong += halve_smallest_normal() != 0x1p-127f; });
  CHECK(wrong == 0);
}
#endif
