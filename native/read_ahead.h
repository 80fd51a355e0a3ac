// Reads a file in pieces, the next ones on a thread of its own while the present one is worked on.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "native/input.h"

namespace bitwin::native {

class ReadAhead {
 public:
  explicit ReadAhead(InputFile& file, size_t piece_bytes = 4u << 20) : file_(&file), piece_bytes_(piece_bytes) {}
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // The next bytes, valid until the next call; none at the end of the file. Failure when reading fails.
  std::span<const uint8_t> next();

  // The caller will need the file's first `bytes` bytes: from now on they are read ahead, and none behind them are.
  // Only where the file's size is known: a pipe buffers by itself, and waiting for one must not hold up an error.
  void expect(uint64_t bytes);

 private:
  struct Piece {
    std::unique_ptr<uint8_t[]> bytes;
    size_t size = 0;
  };
  void fill(Piece& piece, size_t size);
  void run();

  InputFile* file_;
  size_t piece_bytes_;
  uint64_t position_ = 0;  // bytes read; the thread's once it runs
  std::array<Piece, 3> pieces_;
  std::thread thread_;

  // Shared with the thread: pieces [taken_, filled_) are ready or lent (the first of them), modulo their number.
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t expected_ = 0;
  uint64_t taken_ = 0, filled_ = 0;
  bool lent_ = false;
  bool ended_ = false;  // nothing more will be filled
  bool quit_ = false;
  std::exception_ptr failure_;
};

}  // namespace bitwin::native
