// How far a model's logits are from a float32 reference.
#pragma once

#include <memory>
#include <optional>

#include "engine/engine.h"
#include "native/reference.h"

namespace bitwin::native {

// Position 0 of a text is left out of the first three: its huge activations say little about the rest.
struct Score {
  // Kullback-Leibler divergence, in nats: at a position the sum over the reference's tokens of
  // p_ref * (ln p_ref - ln p), p from the softmax over all of the vocabulary.
  std::optional<double> mean_kl;
  std::optional<double> p99_kl;  // 99 % of the positions are at or below it
  // Share of positions whose most likely token is the reference's.
  std::optional<double> same_top;
  // exp of the mean of -ln p of each next token of a whole text, position 0 included.
  std::optional<double> ppl;
  // Share of greedy steps with the reference's token, each prompt up to its first step with a margin below 0.2.
  std::optional<double> greedy_agreement;
};

Score evaluate(const std::shared_ptr<const Model>& model, const Reference& reference, bool quiet);

}  // namespace bitwin::native
