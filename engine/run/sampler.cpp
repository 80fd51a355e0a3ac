#include "engine/run/sampler.h"

#include <algorithm>
#include <limits>

#include "engine/base/math.h"

namespace bitwin {
namespace {

// Candidates are sorted in bands of this many temperatures below the largest logit, as far as a choice needs. Beyond
// the last one (e^-16 of the largest weight) the rest comes at once.
constexpr double kBand = 2.0;
constexpr double kLastBand = 16.0;

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

double Sampler::weight(float logit) const {
  // Equal also where both are infinite.
  if (logit == largest_) return 1.0;
  return math::exp((static_cast<double>(logit) - static_cast<double>(largest_)) /
                   static_cast<double>(options_.temperature));
}

bool Sampler::before(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

// The k best candidates in order, and nothing else.
void Sampler::sort_best(std::span<const float> logits, size_t k) {
  candidates_.resize(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) candidates_[i] = {usable(logits[i]), static_cast<int32_t>(i), 0.0};
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(k), candidates_.end(),
                    before);
  candidates_.resize(k);
  for (Candidate& candidate : candidates_) candidate.weight = weight(candidate.logit);
}

// Appends the next band to the sorted candidates. `depth` is how many temperatures the bands reach down so far.
void Sampler::sort_band(std::span<const float> logits, double* depth) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto bound = [this](double d) {
    return d == kInfinity ? -kInfinity : static_cast<double>(largest_) - d * static_cast<double>(options_.temperature);
  };
  const double upper = *depth == 0 ? kInfinity : bound(*depth);
  const bool first = *depth == 0;
  *depth = *depth >= kLastBand ? kInfinity : *depth + kBand;
  const double lower = bound(*depth);
  const size_t sorted = candidates_.size();
  for (size_t i = 0; i < logits.size(); ++i) {
    const float logit = usable(logits[i]);
    if (logit >= lower && (first || logit < upper))
      candidates_.push_back({logit, static_cast<int32_t>(i), weight(logit)});
  }
  std::sort(candidates_.begin() + static_cast<std::ptrdiff_t>(sorted), candidates_.end(), before);
}

// The choice is that of a full sort by (logit descending, id ascending), a running sum of the weights
// exp((logit - largest) / temperature) in that order, and the first candidate whose sum exceeds random * total. Only as
// much of the order is produced as the choice looks at; the order is total, so it does not depend on how. Before a
// filter by top-p, the total is summed in that order after top-k, and in ascending order of ids without it.
int32_t Sampler::choose(std::span<const float> logits) {
  if (options_.temperature == 0 || logits.empty()) return greedy(logits);
  largest_ = -std::numeric_limits<float>::infinity();
  for (const float logit : logits) largest_ = logit > largest_ ? logit : largest_;

  candidates_.clear();
  const size_t top_k = static_cast<size_t>(options_.top_k);
  size_t count = logits.size();  // candidates in all
  double total = 0;
  if (top_k > 0 && top_k < count) {
    count = top_k;
    sort_best(logits, count);
    for (const Candidate& candidate : candidates_) total += candidate.weight;
  } else {
    for (const float logit : logits) total += weight(usable(logit));
  }
  double depth = 0;
  const auto candidate = [&](size_t i) -> const Candidate& {
    while (i >= candidates_.size()) sort_band(logits, &depth);
    return candidates_[i];
  };

  // Cuts the order where top-p is reached or min-p no longer holds.
  if (options_.top_p < 1 || options_.min_p > 0) {
    const double wanted =
        options_.top_p < 1 ? static_cast<double>(options_.top_p) * total : std::numeric_limits<double>::infinity();
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
      if (i > 0 && candidate(i).weight < static_cast<double>(options_.min_p)) {
        count = i;
      } else {
        sum += candidate(i).weight;
        if (sum >= wanted) count = i + 1;
      }
    }
    total = sum;
  }

  const double target = static_cast<double>(next_random() >> 11) * 0x1p-53 * total;
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += candidate(i).weight;
    if (sum > target) return candidate(i).id;
  }
  // Rounding left the sum at the target: the last one with any weight, which is the last that can be drawn.
  while (count > 1 && candidate(count - 1).weight == 0) --count;
  return candidate(count - 1).id;
}

}  // namespace bitwin
