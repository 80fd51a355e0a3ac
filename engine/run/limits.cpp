#include <algorithm>
#include <atomic>
#include <cstring>

#include "engine/base/buffer.h"
#include "engine/base/system.h"
#include "engine/engine.h"
#include "engine/run/guard.h"
#include "engine/run/model_state.h"

namespace bitwin {
namespace {

// Long enough for a stream, short enough to balance unequal cores.
constexpr int64_t kPiece = 1 << 20;
static_assert(kPiece % kReadStep == 0);

constexpr int kLeastPasses = 5;
constexpr double kLeastSeconds = 0.4;
constexpr int kClockSteps = 10;  // that a measurement takes at least
constexpr double kDotSeconds = 300e-6;  // of one call, far above the time to start one
constexpr int64_t kDotCalls = 32;       // per thread and pass

// What the clock advances by at least: browsers may round it to many milliseconds.
double clock_step() {
  const double start = system::now();
  double now = start;
  while (now == start) now = system::now();
  return now - start;
}

// The shortest of several passes, in seconds, as many at a time as the clock can tell. They go on for a while, so that
// wasm hosts replace their first code.
template <class F>
double best_time(F&& pass) {
  const double least = kClockSteps * clock_step();
  double best = 0;
  double total = 0;
  int at_once = 1;
  for (int done = 0; done < kLeastPasses || total < kLeastSeconds;) {
    const double start = system::now();
    for (int i = 0; i < at_once; ++i) pass();
    const double seconds = system::now() - start;
    total += seconds;
    if (seconds < least) {
      at_once *= 2;
      done = 0;
      continue;
    }
    best = done == 0 ? seconds / at_once : std::min(best, seconds / at_once);
    ++done;
  }
  return best;
}

double read_rate(const KernelTable& kernel, ThreadPool& pool, const Buffer& buffer) {
  const int64_t pieces = static_cast<int64_t>(buffer.size()) / kPiece;
  std::atomic<int32_t> sum{0};  // keeps the reads from being left out
  const double seconds = best_time([&] {
    pool.parallel_for(pieces, 1, [&](int64_t begin, int64_t end, int) {
      sum.fetch_add(kernel.read_sum(buffer.data() + begin * kPiece, (end - begin) * kPiece), std::memory_order_relaxed);
    });
  });
  return static_cast<double>(buffer.size()) / seconds;
}

double dot_rate(const KernelTable& kernel, ThreadPool& pool) {
  int8_t seed[64];
  for (int i = 0; i < 64; ++i) seed[i] = static_cast<int8_t>(i * 37 % 255 - 127);
  std::atomic<int32_t> sum{0};
  const auto call = [&](int64_t rounds) {
    int32_t result = 0;
    const int64_t macs = kernel.dot_peak(rounds, seed, &result);
    sum.fetch_add(result, std::memory_order_relaxed);
    return macs;
  };
  int64_t rounds = 1024;
  for (double seconds = 0; seconds < kDotSeconds && rounds < (int64_t{1} << 30); rounds *= 2) {
    const double start = system::now();
    call(rounds);
    seconds = system::now() - start;
  }
  std::atomic<int64_t> macs{0};
  const double seconds = best_time([&] {
    macs.store(0, std::memory_order_relaxed);
    pool.parallel_for(kDotCalls * pool.threads(), 1, [&](int64_t begin, int64_t end, int) {
      for (; begin < end; ++begin) macs.fetch_add(call(rounds), std::memory_order_relaxed);
    });
  });
  return static_cast<double>(macs.load(std::memory_order_relaxed)) / seconds;
}

uint64_t macs_of(const PackedMatrix& matrix) { return static_cast<uint64_t>(matrix.rows() * matrix.cols()); }

Result<Limits> measure(const KernelTable& kernel, ThreadPool& pool, uint64_t bytes) {
  if (bytes == 0 || bytes > SIZE_MAX / 2 - kPiece)
    return error(Code::invalid_argument, "the read bandwidth cannot be measured over %llu bytes",
                 static_cast<unsigned long long>(bytes));
  const int64_t pieces = static_cast<int64_t>((bytes + kPiece - 1) / kPiece);
  BITWIN_ASSIGN_OR_RETURN(Buffer buffer,
                          Buffer::allocate(static_cast<size_t>(pieces * kPiece), "measuring the read bandwidth"));
  Limits limits;
  pool.begin_region();
  // Memory that was never written may be one page of zeros for the whole buffer.
  pool.parallel_for(pieces, 1, [&](int64_t begin, int64_t end, int) {
    std::memset(buffer.data() + begin * kPiece, 1, static_cast<size_t>((end - begin) * kPiece));
  });
  limits.read_bytes_per_second = read_rate(kernel, pool, buffer);
  limits.macs_per_second = dot_rate(kernel, pool);
  pool.end_region();
  return limits;
}

}  // namespace

TokenCost token_cost(const Model& model) {
  TokenCost cost;
  if (model.state() == nullptr) return cost;
  const Weights& weights = model.state()->weights;
  cost.weight_bytes = weights.output_matrix().bytes();
  for (const LayerWeights& layer : weights.layers) {
    for (const PackedMatrix* matrix :
         {&layer.q, &layer.k, &layer.v, &layer.output, &layer.gate, &layer.up, &layer.down}) {
      cost.weight_bytes += matrix->bytes();
      cost.macs += macs_of(*matrix);
    }
  }
  return cost;
}

Result<Limits> measure_limits(const Model& model, uint64_t bytes) {
  ModelState* state = model.state();
  if (state == nullptr) return Status(Code::unsupported, "a model without weights has nothing to compute with");
  return guarded([&] {
    const std::lock_guard<std::mutex> lock(state->forward_mutex);
    return measure(*state->kernel, *state->pool, bytes);
  });
}

}  // namespace bitwin
