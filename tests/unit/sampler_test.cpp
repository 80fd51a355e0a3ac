#include "engine/run/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "engine/base/math.h"
#include "tests/unit/catch.h"

using bitwin::Code;
using bitwin::Sampler;
using bitwin::SamplingOptions;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

uint64_t split_mix(uint64_t* state) {
  *state += 0x9e3779b97f4a7c15;
  uint64_t z = *state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Logits with many equal values, as quantised models give them.
std::vector<float> some_logits(size_t count, uint64_t seed) {
  std::vector<float> logits(count);
  for (float& logit : logits) logit = static_cast<float>(static_cast<int64_t>(split_mix(&seed) % 4096) - 2048) / 128.0f;
  return logits;
}

// The definition: sort all, filter in the documented order, draw from the running sum.
class NaiveSampler {
 public:
  explicit NaiveSampler(const SamplingOptions& options) : options_(options), state_(options.seed) {}

  int32_t choose(const std::vector<float>& logits) {
    struct Entry {
      float logit;
      int32_t id;
      double weight;
    };
    std::vector<Entry> all;
    for (size_t i = 0; i < logits.size(); ++i) all.push_back({logits[i], static_cast<int32_t>(i), 0});
    float largest = -kInfinity;
    for (const Entry& e : all) largest = std::max(largest, e.logit);
    const auto weight = [&](float logit) {
      return bitwin::math::exp((static_cast<double>(logit) - static_cast<double>(largest)) /
                               static_cast<double>(options_.temperature));
    };
    const bool top_k = options_.top_k > 0 && static_cast<size_t>(options_.top_k) < all.size();
    double total = 0;
    for (Entry& e : all) {
      e.weight = weight(e.logit);
      if (!top_k) total += e.weight;
    }
    std::sort(all.begin(), all.end(),
              [](const Entry& a, const Entry& b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; });
    if (top_k) {
      all.resize(static_cast<size_t>(options_.top_k));
      for (const Entry& e : all) total += e.weight;
    }
    double sum = 0;
    if (options_.top_p < 1 || options_.min_p > 0) {
      std::vector<Entry> kept;
      for (const Entry& e : all) {
        if (!kept.empty() && e.weight < static_cast<double>(options_.min_p)) break;
        kept.push_back(e);
        sum += e.weight;
        if (options_.top_p < 1 && sum >= static_cast<double>(options_.top_p) * total) break;
      }
      all = kept;
      total = sum;
    }
    const double target = static_cast<double>(split_mix(&state_) >> 11) * 0x1p-53 * total;
    sum = 0;
    for (const Entry& e : all) {
      sum += e.weight;
      if (sum > target) return e.id;
    }
    return all.back().id;
  }

 private:
  SamplingOptions options_;
  uint64_t state_;
};

SamplingOptions options(float temperature, int32_t top_k, float top_p, float min_p, uint64_t seed = 0) {
  SamplingOptions result;
  result.temperature = temperature;
  result.top_k = top_k;
  result.top_p = top_p;
  result.min_p = min_p;
  result.seed = seed;
  return result;
}

}  // namespace

TEST_CASE("Partial sorting chooses what a full sort chooses, for every combination of filters") {
  int64_t different = 0, kinds = 0;
  for (const size_t count : {1, 2, 7, 63, 64, 65, 300, 5000}) {
    for (const float temperature : {0.01f, 0.6f, 1.0f, 50.0f}) {
      for (const int32_t top_k : {0, 1, 2, 40, 100000}) {
        for (const float top_p : {1.0f, 0.95f, 0.5f, 0.001f}) {
          for (const float min_p : {0.0f, 0.05f, 1.0f}) {
            const SamplingOptions o = options(temperature, top_k, top_p, min_p, count + 17);
            Sampler sampler(o);
            NaiveSampler naive(o);
            for (uint64_t round = 0; round < 4; ++round, ++kinds) {
              const std::vector<float> logits = some_logits(count, count * 31 + round);
              different += sampler.choose(logits) != naive.choose(logits);
            }
          }
        }
      }
    }
  }
  CHECK(kinds == 8 * 4 * 5 * 4 * 3 * 4);
  CHECK(different == 0);
}

TEST_CASE("A seed gives the same choices in every build") {
  const std::vector<float> logits = some_logits(1000, 5);
  const auto draw = [&](const SamplingOptions& o) {
    Sampler sampler(o);
    std::vector<int32_t> ids;
    for (int i = 0; i < 12; ++i) ids.push_back(sampler.choose(logits));
    return ids;
  };
  CHECK(draw(options(0.6f, 0, 0.95f, 0.0f, 1)) ==
        std::vector<int32_t>{218, 802, 7, 133, 133, 835, 536, 935, 812, 420, 797, 546});
  CHECK(draw(options(1.5f, 0, 1.0f, 0.0f, 2)) ==
        std::vector<int32_t>{873, 384, 873, 168, 525, 30, 791, 237, 218, 791, 432, 639});
  CHECK(draw(options(1.0f, 20, 0.9f, 0.05f, 3)) ==
        std::vector<int32_t>{103, 935, 133, 988, 825, 249, 103, 830, 953, 830, 935, 935});
}

TEST_CASE("Greedy takes the largest logit and the smaller id among equals") {
  CHECK(Sampler::greedy(std::vector<float>{1, 3, 2, 3}) == 1);
  CHECK(Sampler::greedy(std::vector<float>{-5}) == 0);
  CHECK(Sampler(options(0, 0, 1, 0)).choose(std::vector<float>{1, 3, 2, 3}) == 1);
  CHECK(Sampler(options(0, 3, 0.5f, 0.1f)).choose(std::vector<float>{0, 0, 0}) == 0);
}

TEST_CASE("Logits that are not finite are never chosen over finite ones, and never crash") {
  for (const float temperature : {0.0f, 1.0f}) {
    for (const float top_p : {1.0f, 0.9f}) {
      Sampler sampler(options(temperature, 0, top_p, 0, 9));
      for (int i = 0; i < 50; ++i) {
        CHECK(sampler.choose(std::vector<float>{kNaN, -kInfinity, 2, kNaN, -kInfinity}) == 2);
        CHECK(sampler.choose(std::vector<float>{1, kInfinity, 2}) == 1);
        const int32_t any = sampler.choose(std::vector<float>{kNaN, kNaN, kNaN});
        CHECK((any >= 0 && any < 3));
        const int32_t none = sampler.choose(std::vector<float>{-kInfinity, -kInfinity});
        CHECK((none >= 0 && none < 2));
      }
    }
  }
}

TEST_CASE("Filters keep what they promise") {
  // Probabilities 0.5, 0.25, 0.125, 0.125 at temperature 1.
  const float ln2 = 0.6931472f;
  const std::vector<float> logits{-2 * ln2, 0, -ln2, -2 * ln2};
  const auto seen = [&](const SamplingOptions& o) {
    Sampler sampler(o);
    std::map<int32_t, int> counts;
    for (int i = 0; i < 2000; ++i) ++counts[sampler.choose(logits)];
    std::string ids;
    for (const auto& [id, count] : counts) ids += std::to_string(id);
    return ids;
  };
  CHECK(seen(options(1, 0, 1, 0)) == "0123");
  CHECK(seen(options(1, 3, 1, 0)) == "012");
  CHECK(seen(options(1, 2, 1, 0)) == "12");
  CHECK(seen(options(1, 0, 0.4f, 0)) == "1");
  CHECK(seen(options(1, 0, 0.7f, 0)) == "12");
  CHECK(seen(options(1, 0, 0.8f, 0)) == "012");
  CHECK(seen(options(1, 0, 1, 0.4f)) == "12");
  CHECK(seen(options(1, 0, 1, 0.6f)) == "1");
  CHECK(seen(options(1, 0, 1, 0.2f)) == "0123");
}

TEST_CASE("Frequencies follow the probabilities") {
  const float ln2 = 0.6931472f;
  const std::vector<float> logits{0, -ln2, -2 * ln2, -2 * ln2};
  Sampler sampler(options(1, 0, 1, 0, 7));
  int counts[4] = {};
  constexpr int kDraws = 40000;
  for (int i = 0; i < kDraws; ++i) ++counts[sampler.choose(logits)];
  // Within five standard deviations of a binomial count.
  const double expected[] = {0.5, 0.25, 0.125, 0.125};
  for (int i = 0; i < 4; ++i) {
    const double deviation = std::sqrt(kDraws * expected[i] * (1 - expected[i]));
    CHECK(std::fabs(counts[i] - kDraws * expected[i]) < 5 * deviation);
  }
}

TEST_CASE("Options out of range are refused by name") {
  const auto message = [](const SamplingOptions& o) {
    const bitwin::Status status = bitwin::check(o);
    if (!status.ok()) CHECK(status.code() == Code::invalid_argument);
    return status.message();
  };
  CHECK(bitwin::check(SamplingOptions()).ok());
  CHECK(bitwin::check(options(0, 0, 1, 0)).ok());
  CHECK(bitwin::check(options(2, 1000000, 0.01f, 1)).ok());
  for (const float bad : {-0.1f, kNaN, kInfinity})
    CHECK(message(options(bad, 0, 1, 0)).find("temperature") != std::string::npos);
  CHECK(message(options(1, -1, 1, 0)).find("top-k") != std::string::npos);
  for (const float bad : {0.0f, -1.0f, 1.1f, kNaN})
    CHECK(message(options(1, 0, bad, 0)).find("top-p") != std::string::npos);
  for (const float bad : {-0.1f, 1.1f, kNaN}) CHECK(message(options(1, 0, 1, bad)).find("min-p") != std::string::npos);
}
