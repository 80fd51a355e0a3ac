// Where the time of the forward pass goes: one sum per operation, on the clock of the thread that leads the pass.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/system.h"

namespace bitwin {

// What a pass does, in the order in which it does so. A step that does two of these at once counts as the one that
// takes longer.
enum class Operation {
  embedding,
  normalization,
  quantization,
  qkv,
  rotation,  // of q and k, and storing k and v into the cache
  attention,
  attention_output,
  gate_up,
  activation,
  down,
  output_head,
};
inline constexpr size_t kOperations = static_cast<size_t>(Operation::output_head) + 1;
inline constexpr std::array<const char*, kOperations> kOperationNames = {
    "embedding",        "normalization", "quantization", "qkv",  "rotation",   "attention",
    "attention_output", "gate_up",       "activation",   "down", "output_head"};

struct Profile {
  int64_t passes = 0;
  double total = 0;  // seconds; what the operations leave of it is spent between them
  std::array<double, kOperations> seconds{};

  double& operator[](Operation operation) { return seconds[static_cast<size_t>(operation)]; }
  double other() const {
    double rest = total;
    for (const double one : seconds) rest -= one;
    return rest;
  }
};

// Adds the time of a scope to a sum; does nothing, and reads no clock, when the sum is null.
class ProfileScope {
 public:
  ProfileScope(Profile* profile, Operation operation)
      : ProfileScope(profile == nullptr ? nullptr : &(*profile)[operation]) {}
  explicit ProfileScope(double* sum) : sum_(sum), start_(sum == nullptr ? 0 : system::now()) {}
  ~ProfileScope() {
    if (sum_ != nullptr) *sum_ += system::now() - start_;
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  double* sum_;
  double start_;
};

}  // namespace bitwin
