// The forward pass over a batch of rows (sequence, position, token).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/base/status.h"
#include "engine/base/thread_pool.h"
#include "engine/kernels/kernel.h"
#include "engine/load/config.h"
#include "engine/nn/kv_cache.h"
#include "engine/nn/profile.h"
#include "engine/nn/weights.h"

namespace bitwin {

// One token to evaluate. Rows of one sequence come in ascending position without gaps, starting at or below
// the sequence's length; a prompt chunk, a decode step and a mix of sequences are the same call.
struct BatchRow {
  KvSequence* sequence = nullptr;
  int64_t position = 0;
  int32_t token = 0;
  bool want_logits = false;
};

class Forward {
 public:
  // Rows that one call can take at most.
  static constexpr int64_t kMaxRows = 128;

  // Keeps references to all arguments, which must outlive it.
  static Result<std::unique_ptr<Forward>> create(const ModelConfig& config, const Weights& weights,
                                                 const KernelTable& kernel, ThreadPool& pool);
  ~Forward();

  // Evaluates 1..kMaxRows rows, appends their keys and values to the sequences (reserving room) and writes one row of
  // `vocabulary` logits to `logits` for each row that wants them, in order. A row's result depends on its sequence
  // alone, never on the rest of the batch.
  // Errors: invalid_argument (token or position out of range), context_full, out_of_memory, non_finite (names the
  // layer), cancelled when *stop becomes true, looked at between layers. After an error the sequences' lengths are as
  // they were.
  Status run(std::span<const BatchRow> rows, float* logits, const std::atomic<bool>* stop = nullptr);

  // From now on every pass adds its times to *profile, which must outlive its use; null: no more.
  void set_profile(Profile* profile);

  // Bytes of scratch memory held.
  size_t scratch_bytes() const;

 private:
  Forward();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bitwin
