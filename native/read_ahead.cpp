#include "native/read_ahead.h"

#include <algorithm>
#include <system_error>

namespace bitwin::native {

ReadAhead::~ReadAhead() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    quit_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ReadAhead::fill(Piece& piece, size_t size) {
  if (!piece.bytes) piece.bytes = std::make_unique_for_overwrite<uint8_t[]>(piece_bytes_);
  piece.size = file_->read(piece.bytes.get(), size);
  position_ += piece.size;
}

std::span<const uint8_t> ReadAhead::next() {
  if (!thread_.joinable()) {
    fill(pieces_[0], piece_bytes_);
    return {pieces_[0].bytes.get(), pieces_[0].size};
  }
  std::unique_lock<std::mutex> lock(mutex_);
  if (lent_) ++taken_;
  lent_ = false;
  changed_.notify_all();
  changed_.wait(lock, [this] { return taken_ < filled_ || ended_; });
  if (taken_ < filled_) {
    lent_ = true;
    const Piece& piece = pieces_[taken_ % pieces_.size()];
    return {piece.bytes.get(), piece.size};
  }
  if (failure_) std::rethrow_exception(failure_);
  return {};
}

void ReadAhead::expect(uint64_t bytes) {
  if (file_->size() == 0 || thread_.joinable() || bytes <= position_) return;
  expected_ = bytes;
  // The piece that next() gave last is still in use: the thread begins with the one behind it.
  taken_ = 0;
  filled_ = 1;
  lent_ = true;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    // The system refuses a thread: next() goes on reading by itself.
  }
}

void ReadAhead::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (position_ < expected_) {
    changed_.wait(lock, [this] { return quit_ || filled_ - taken_ < pieces_.size(); });
    if (quit_) return;
    Piece& piece = pieces_[filled_ % pieces_.size()];
    lock.unlock();
    std::exception_ptr failure;
    try {
      fill(piece, static_cast<size_t>(std::min<uint64_t>(piece_bytes_, expected_ - position_)));
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure || piece.size == 0) {
      failure_ = failure;
      break;
    }
    ++filled_;
    changed_.notify_all();
  }
  ended_ = true;
  changed_.notify_all();
}

}  // namespace bitwin::native
