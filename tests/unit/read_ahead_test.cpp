// Reading ahead gives a file's bytes in order, wherever the thread begins and ends.
#include "native/read_ahead.h"

#include <filesystem>
#include <string>
#include <vector>

#include "native/output.h"
#include "native/system.h"
#include "tests/unit/catch.h"

namespace bitwin::native {
namespace {

constexpr size_t kPiece = 64;

// A file of `size` bytes that is gone afterwards.
class TemporaryFile {
 public:
  explicit TemporaryFile(size_t size) {
    path_ = (std::filesystem::temp_directory_path() / "bitwin-read-ahead-test").string();
    std::filesystem::remove(path_);
    for (size_t i = 0; i < size; ++i) bytes_.push_back(static_cast<uint8_t>(i * 31 + i / 256));
    std::FILE* file = create_file(path_);
    REQUIRE(file != nullptr);
    if (size != 0) CHECK(std::fwrite(bytes_.data(), 1, size, file) == size);  // an empty vector has no address
    std::fclose(file);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::string path_;
  std::vector<uint8_t> bytes_;
};

TEST_CASE("Reading ahead gives all bytes in order, wherever it begins and however much is expected") {
  for (const size_t size : {size_t{0}, size_t{1}, kPiece - 1, kPiece, kPiece + 1, 4 * kPiece, 11 * kPiece + 3}) {
    const TemporaryFile temporary(size);
    for (const size_t begin : {size_t{0}, size_t{1}, size_t{2}}) {
      for (const size_t expected : {size_t{0}, size_t{1}, kPiece, 3 * kPiece + 1, size, size + 100}) {
        INFO(size << " bytes, after piece " << begin << " " << expected << " expected");
        InputFile file(temporary.path());
        ReadAhead pieces(file, kPiece);
        std::vector<uint8_t> read;
        size_t before = 0;  // what had been read when the thread began
        for (size_t i = 0;; ++i) {
          if (i == begin) {
            before = read.size();
            pieces.expect(expected);
          }
          const std::span<const uint8_t> piece = pieces.next();
          if (piece.empty()) break;
          REQUIRE(piece.size() <= kPiece);
          read.insert(read.end(), piece.begin(), piece.end());
        }
        // Behind what is expected nothing is read; without a thread, all of it.
        const bool ahead = expected > before && begin * kPiece <= size && size > 0;
        const size_t wanted = ahead ? std::min(expected, size) : size;
        const std::vector<uint8_t>& bytes = temporary.bytes();
        CHECK(read == std::vector<uint8_t>(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(wanted)));
      }
    }
  }
}

TEST_CASE("Reading ahead can be left at any piece") {
  const TemporaryFile temporary(40 * kPiece);
  for (int taken = 0; taken < 6; ++taken) {
    InputFile file(temporary.path());
    ReadAhead pieces(file, kPiece);
    REQUIRE(pieces.next().size() == kPiece);
    pieces.expect(40 * kPiece);
    for (int i = 0; i < taken; ++i) REQUIRE(pieces.next().size() == kPiece);
  }
}

}  // namespace
}  // namespace bitwin::native
