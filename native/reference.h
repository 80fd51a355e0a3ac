// Reference answers of a float32 model, in the two forms of tests/golden/logits (its README describes them).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace bitwin::native {

// What the reference predicts after the token at `position`.
struct ReferencePosition {
  int64_t position = 0;
  std::vector<TokenId> top_ids;      // the most likely tokens, the best first
  std::vector<double> top_logprobs;  // natural logarithms of their probabilities
};

struct ReferencePrompt {
  std::vector<TokenId> ids;
  std::vector<ReferencePosition> positions;  // ascending
  std::vector<TokenId> greedy;               // the greedy continuation; empty in the form of a whole text
  std::vector<double> margins;               // of each greedy step: best logit less the second best
};

struct Reference {
  bool whole_text = false;  // one text with every position, instead of prompts with greedy continuations
  std::vector<ReferencePrompt> prompts;
};

// Failure naming the file and the place in it when anything is missing, of another type or out of range.
Reference read_reference(const std::string& path, int64_t vocabulary);

}  // namespace bitwin::native
