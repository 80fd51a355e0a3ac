// The weights of a loaded model and what computes on them; shared by the sessions on it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>

#include "engine/base/thread_pool.h"
#include "engine/kernels/kernel.h"
#include "engine/load/config.h"
#include "engine/nn/forward.h"
#include "engine/nn/weights.h"

namespace bitwin {

struct ModelState {
  ModelConfig config;
  std::unique_ptr<ThreadPool> pool;
  Weights weights;
  const KernelTable* kernel = nullptr;

  // One pass at a time: the pool has one driver, and the scratch memory of the forward pass exists once.
  std::mutex forward_mutex;
  std::unique_ptr<Forward> forward;

  Status run(std::span<const BatchRow> rows, float* logits, const std::atomic<bool>* stop) {
    const std::lock_guard<std::mutex> lock(forward_mutex);
    return forward->run(rows, logits, stop);
  }

  void set_profile(Profile* profile) {
    const std::lock_guard<std::mutex> lock(forward_mutex);
    forward->set_profile(profile);
  }
};

}  // namespace bitwin
