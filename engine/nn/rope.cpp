#include "engine/nn/rope.h"

#include <new>

#include "engine/base/math.h"

namespace bitwin {

RopeTable::RopeTable(const ModelConfig& config, std::span<const float> factors)
    : half_(config.rope_dim / 2), position_scale_(1.0 / config.rope_scale) {
  frequencies_.resize(static_cast<size_t>(half_));
  for (int64_t i = 0; i < half_; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(config.rope_dim);
    const size_t at = static_cast<size_t>(i);
    frequencies_[at] = math::pow(config.rope_base, exponent);
    if (!factors.empty()) frequencies_[at] /= static_cast<double>(factors[at]);
  }
}

Status RopeTable::reserve(int64_t positions) {
  if (positions <= positions_) return Status();
  // Grown in steps, so that decoding does not copy the table at every token.
  const int64_t target = (positions + 255) / 256 * 256;
  try {
    cosine_.resize(static_cast<size_t>(target * half_));
    sine_.resize(static_cast<size_t>(target * half_));
  } catch (const std::bad_alloc&) {
    return error(Code::out_of_memory, "the RoPE table of %lld positions needs %lld bytes, which were refused",
                 static_cast<long long>(target), static_cast<long long>(target * half_ * 8));
  }
  for (int64_t p = positions_; p < target; ++p)
    for (int64_t i = 0; i < half_; ++i) {
      double s = 0;
      double c = 0;
      math::sincos(static_cast<double>(p) * position_scale_ * frequencies_[static_cast<size_t>(i)], &s, &c);
      cosine_[static_cast<size_t>(p * half_ + i)] = static_cast<float>(c);
      sine_[static_cast<size_t>(p * half_ + i)] = static_cast<float>(s);
    }
  positions_ = target;
  return Status();
}

}  // namespace bitwin
