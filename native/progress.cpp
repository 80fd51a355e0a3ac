#include "native/progress.h"

#include <algorithm>
#include <utility>

#include "native/output.h"
#include "native/system.h"

namespace bitwin::native {

Progress::Progress(std::string label, Unit unit, uint64_t total, bool quiet)
    : label_(std::move(label)), unit_(unit), total_(total), active_(!quiet && understands_escapes(Stream::error)) {}

Progress::~Progress() { clear(); }

void Progress::update(uint64_t done) {
  if (!active_) return;
  Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);

  auto amount = [this](double value) { return unit_ == Unit::bytes ? format_bytes(value) : format("%.0f", value); };
  double seconds = std::chrono::duration<double>(now - start_).count();
  std::string rate = amount(static_cast<double>(done) / seconds) + (unit_ == Unit::bytes ? "/s" : " tokens/s");
  std::string counts = amount(static_cast<double>(done));
  std::string bar;
  if (total_ > 0) {
    double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    counts = format("%3.0f %%  ", share * 100) + counts + " of " + amount(static_cast<double>(total_));
    constexpr int kWidth = 24;
    int filled = static_cast<int>(share * kWidth);
    bar.assign(kWidth + 3, '.');
    bar.replace(0, 1, "[").replace(kWidth + 1, 2, "] ");
    for (int i = 0; i < filled; ++i) bar[static_cast<size_t>(i) + 1] = '#';
  }
  std::string text = bar + counts + "  " + rate;
  auto width = static_cast<size_t>(std::max(20, terminal_width() - 1));
  // Where the terminal is narrow the bar goes first: the numbers say the same, and the label says what is going on.
  std::string line = label_ + "  " + text;
  if (line.size() > width) line = label_ + "  " + counts + "  " + rate;
  if (line.size() > width) line = counts + "  " + rate;
  if (line.size() > width) line.resize(width);
  write_err("\r" + line + "\x1b[K");
  drawn_ = true;
}

void Progress::clear() {
  if (drawn_) write_err("\r\x1b[K");
  drawn_ = false;
}

}  // namespace bitwin::native
