// Rotary position embedding (Su et al. 2021): the cosines and sines of every position, made once in double.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/status.h"
#include "engine/load/config.h"

namespace bitwin {

class RopeTable {
 public:
  // factors: divisors of the frequencies, [rope_dim / 2], or empty.
  RopeTable(const ModelConfig& config, std::span<const float> factors);

  // Fills the table up to `positions`; out_of_memory when refused.
  Status reserve(int64_t positions);

  // [rope_dim / 2] values of a reserved position.
  const float* cosine(int64_t position) const { return cosine_.data() + position * half_; }
  const float* sine(int64_t position) const { return sine_.data() + position * half_; }
  size_t bytes() const { return (cosine_.capacity() + sine_.capacity()) * sizeof(float); }

 private:
  int64_t half_;
  int64_t positions_ = 0;
  double position_scale_;
  std::vector<double> frequencies_;
  std::vector<float> cosine_, sine_;
};

}  // namespace bitwin
