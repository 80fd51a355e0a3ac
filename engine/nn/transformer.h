// The decoder of the qwen2 and llama families.
#pragma once

#include <span>

#include "engine/load/config.h"
#include "engine/nn/forward.h"
#include "engine/nn/pass.h"
#include "engine/nn/rope.h"
#include "engine/nn/weights.h"
#include "engine/nn/workspace.h"

namespace bitwin {

// Evaluates rows whose sequences and tables have room. Writes [vocabulary] logits for each row that wants them.
// The arguments must outlive the pass.
Pass transformer(const ModelConfig& config, const Weights& weights, const RopeTable& rope, Workspace& work,
                 std::span<const BatchRow> rows, float* logits);

}  // namespace bitwin
