// Choosing the next token from logits; the same choice in every build for the same seed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/status.h"

namespace bitwin {

// How tokens are drawn. Filters apply in this order: top-k, temperature, top-p, min-p.
struct SamplingOptions {
  float temperature = 0.6f;  // 0: greedy, the largest logit, the smaller id among equals
  int32_t top_k = 0;         // keep the k most likely; 0 keeps all
  float top_p = 0.95f;       // keep the smallest set of the most likely whose probability reaches p; 1 keeps all
  float min_p = 0.0f;        // keep those at least min_p times as likely as the most likely
  uint64_t seed = 0;
};

// invalid_argument, naming the option and its range, when one is out of range or not a number.
Status check(const SamplingOptions& options);

class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options);

  // The next token's id from one row of logits. Candidates are ordered by (logit descending, id ascending).
  int32_t choose(std::span<const float> logits);

  // The index of the largest logit, the smaller one among equals.
  static int32_t greedy(std::span<const float> logits);

 private:
  struct Candidate {
    float logit;
    int32_t id;
    double weight;
  };
  static bool before(const Candidate& a, const Candidate& b);
  uint64_t next_random();
  double weight(float logit) const;
  void sort_best(std::span<const float> logits, size_t k);
  void sort_band(std::span<const float> logits, double* depth);

  SamplingOptions options_;
  uint64_t state_;
  float largest_ = 0;
  std::vector<Candidate> candidates_;  // the best ones, in order
};

}  // namespace bitwin
