#include "engine/run/sampler.h"

#include <algorithm>
#include <limits>

#include "engine/base/math.h"

namespace bitwin {
namespace {

// The sorted prefix grows by this factor until it reaches as far as a choice needs.
constexpr size_t kFirstSorted = 64;
constexpr size_t kGrowth = 4;

// Not a number counts as impossible.
float usable(float logit) { return logit != logit ? -std::numeric_limits<float>::infinity() : logit; }

}  // namespace

Status check(const SamplingOptions& options) {
  if (!(options.temperature >= 0 && options.temperature <= 1e6f)) {
    return error(Code::invalid_argument, "the temperature must be between 0 and 1000000, not %g",
                 static_cast<double>(options.temperature));
  }
  if (options.top_k < 0) return error(Code::invalid_argument, "top-k must not be negative, but is %d", options.top_k);
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    return error(Code::invalid_argument, "top-p must be above 0 and at most 1, not %g",
                 static_cast<double>(options.top_p));
  }
  if (!(options.min_p >= 0 && options.min_p <= 1)) {
    return error(Code::invalid_argument, "min-p must be between 0 and 1, not %g", static_cast<double>(options.min_p));
  }
  return {};
}

Sampler::Sampler(const SamplingOptions& options) : options_(options), state_(options.seed) {}

// SplitMix64 (Steele, Lea and Flood 2014).
uint64_t Sampler::next_random() {
  state_ += 0x9e3779b97f4a7c15;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

int32_t Sampler::greedy(std::span<const float> logits) {
  int32_t best = 0;
  float most = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > most) {
      most = logits[i];
      best = static_cast<int32_t>(i);
    }
  }
  return best;
}

// The choice is that of a full sort by (logit descending, id ascending), a running sum of the weights
// exp((logit - largest) / temperature) in that order, and the first candidate whose sum exceeds random * total. Only as
// much of the order is produced as the choice looks at; the order is total, so it does not depend on how.
// Before a filter by top-p, the total of all candidates is summed in ascending order of ids.
int32_t Sampler::choose(std::span<const float> logits) {
  if (options_.temperature == 0 || logits.empty()) return greedy(logits);

  candidates_.resize(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) candidates_[i] = {usable(logits[i]), static_cast<int32_t>(i), 0.0};
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  };
  size_t sorted = 0;
  const auto sort_up_to = [&](size_t count) {
    count = std::min(count, candidates_.size());
    if (count <= sorted) return;
    const auto begin = candidates_.begin();
    if (count < candidates_.size()) std::nth_element(begin + sorted, begin + count, candidates_.end(), before);
    std::sort(begin + sorted, begin + count, before);
    sorted = count;
  };

  const size_t top_k = static_cast<size_t>(options_.top_k);
  if (top_k > 0 && top_k < candidates_.size()) {
    sort_up_to(top_k);
    candidates_.resize(top_k);
  }

  const double temperature = static_cast<double>(options_.temperature);
  float largest = candidates_[0].logit;
  for (const Candidate& candidate : candidates_) largest = candidate.logit > largest ? candidate.logit : largest;
  double total = 0;
  for (Candidate& candidate : candidates_) {
    // Equal also where both are infinite.
    candidate.weight =
        candidate.logit == largest
            ? 1.0
            : math::exp((static_cast<double>(candidate.logit) - static_cast<double>(largest)) / temperature);
    total += candidate.weight;
  }

  // Cuts the order where top-p is reached or min-p no longer holds.
  size_t kept = candidates_.size();
  if (options_.top_p < 1 || options_.min_p > 0) {
    const double wanted =
        options_.top_p < 1 ? static_cast<double>(options_.top_p) * total : std::numeric_limits<double>::infinity();
    double sum = 0;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if (i >= sorted) sort_up_to(std::max(kFirstSorted, kGrowth * i));
      if (i > 0 && candidates_[i].weight < static_cast<double>(options_.min_p)) {
        kept = i;
        break;
      }
      sum += candidates_[i].weight;
      if (sum >= wanted) {
        kept = i + 1;
        break;
      }
    }
    total = sum;
  }

  const double target = static_cast<double>(next_random() >> 11) * 0x1p-53 * total;
  double sum = 0;
  for (size_t i = 0; i < kept; ++i) {
    if (i >= sorted) sort_up_to(std::max(kFirstSorted, kGrowth * i));
    sum += candidates_[i].weight;
    if (sum > target) return candidates_[i].id;
  }
  // Rounding left the sum at the target: the last one with any weight, which is the last that can be drawn.
  while (kept > 1 && candidates_[kept - 1].weight == 0) --kept;
  return candidates_[kept - 1].id;
}

}  // namespace bitwin
