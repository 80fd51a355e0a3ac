// A progress bar on standard error; silent unless that is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace bitwin::native {

class Progress {
 public:
  enum class Unit { bytes, tokens };

  // `total` 0: unknown, shown without a percentage.
  Progress(std::string label, Unit unit, uint64_t total, bool quiet);
  // Removes the bar.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Draws the bar, at most ten times a second and not within the first fifth of one.
  void update(uint64_t done);
  // Removes the bar, so that other text can be written; a later update draws it again.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  Unit unit_;
  uint64_t total_;
  bool active_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::milliseconds(200);
};

}  // namespace bitwin::native
