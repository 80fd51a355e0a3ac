#include "engine/run/packed_copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <vector>

#include "engine/base/hash.h"
#include "engine/kernels/layout.h"

namespace bitwin {
namespace {

// 8-byte little-endian words: the fields below, XXH64 of each chunk of the matrices, of the vectors, and of all words
// before. Zeros up to a multiple of kAlignment, then the matrices, then the vectors.
constexpr char kMagic[] = {'B', 'W', 'P', 'A', 'C', 'K', 'E', 'D'};
constexpr uint64_t kFormatVersion = 1;
constexpr size_t kFields = 8;
constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
constexpr uint64_t kAlignment = 4096;

struct Layout {
  uint64_t chunks, words, matrices_at, vectors_at, total;
};

Layout lay_out(uint64_t matrix_bytes, uint64_t vector_bytes) {
  Layout layout;
  layout.chunks = (matrix_bytes + kChunkBytes - 1) / kChunkBytes;
  layout.words = kFields + layout.chunks + 2;
  layout.matrices_at = (layout.words * 8 + kAlignment - 1) / kAlignment * kAlignment;
  layout.vectors_at = layout.matrices_at + matrix_bytes;
  layout.total = layout.vectors_at + vector_bytes;
  return layout;
}

std::vector<uint64_t> fields(const CopySource& source, uint64_t matrix_bytes, uint64_t vector_bytes) {
  uint64_t magic;
  std::memcpy(&magic, kMagic, 8);
  return {magic,
          kFormatVersion << 32 | kLayoutVersion,
          source.file_bytes,
          static_cast<uint64_t>(source.modified),
          source.content_hash,
          matrix_bytes,
          vector_bytes,
          kChunkBytes};
}

Status damaged(const char* what) { return error(Code::format, "%s: the packed copy is damaged", what); }

}  // namespace

Status read_packed_copy(const CopySource& source, uint64_t bytes, const ReadCopy& read, ThreadPool& pool,
                        Weights& weights) {
  const uint64_t matrix_bytes = weights.storage.size();
  std::vector<uint8_t> vectors(weights.vector_bytes());
  const Layout layout = lay_out(matrix_bytes, vectors.size());
  const std::vector<uint64_t> expected = fields(source, matrix_bytes, vectors.size());
  if (bytes != layout.total) return error(Code::format, "the packed copy has another size");
  std::vector<uint64_t> words(layout.words);
  if (!read(0, {reinterpret_cast<uint8_t*>(words.data()), words.size() * 8}))
    return error(Code::io, "the packed copy cannot be read");
  if (!std::equal(expected.begin(), expected.end(), words.begin()))
    return error(Code::format, "the packed copy is that of another file or version");
  if (hash64(words.data(), (words.size() - 1) * 8) != words.back()) return damaged("its header");

  if (!read(layout.vectors_at, vectors)) return error(Code::io, "the packed copy cannot be read");
  if (hash64(vectors.data(), vectors.size()) != words[kFields + layout.chunks]) return damaged("its end");
  std::atomic<bool> unread = false, wrong = false;
  pool.parallel_for(static_cast<int64_t>(layout.chunks), 1, [&](int64_t begin, int64_t end, int) {
    for (uint64_t i = static_cast<uint64_t>(begin); i < static_cast<uint64_t>(end) && !unread && !wrong; ++i) {
      const uint64_t at = i * kChunkBytes;
      const size_t size = static_cast<size_t>(std::min(kChunkBytes, matrix_bytes - at));
      uint8_t* chunk = weights.storage.data() + at;
      if (!read(layout.matrices_at + at, {chunk, size})) {
        unread = true;
      } else if (hash64(chunk, size) != words[kFields + i]) {
        wrong = true;
      }
    }
  });
  if (unread) return error(Code::io, "the packed copy cannot be read");
  if (wrong) return damaged("its weights");
  return weights.set_vectors(vectors);
}

Status write_packed_copy(const CopySource& source, const Weights& weights, ThreadPool& pool, const WriteCopy& write) {
  const uint64_t matrix_bytes = weights.storage.size();
  const std::vector<uint8_t> vectors = weights.vectors();
  const Layout layout = lay_out(matrix_bytes, vectors.size());
  std::vector<uint64_t> words = fields(source, matrix_bytes, vectors.size());
  words.resize(layout.words);
  pool.parallel_for(static_cast<int64_t>(layout.chunks), 1, [&](int64_t begin, int64_t end, int) {
    for (uint64_t i = static_cast<uint64_t>(begin); i < static_cast<uint64_t>(end); ++i) {
      const uint64_t at = i * kChunkBytes;
      words[kFields + i] =
          hash64(weights.storage.data() + at, static_cast<size_t>(std::min(kChunkBytes, matrix_bytes - at)));
    }
  });
  words[kFields + layout.chunks] = hash64(vectors.data(), vectors.size());
  words.back() = hash64(words.data(), (words.size() - 1) * 8);
  words.resize(layout.matrices_at / 8);
  const auto put = [&](std::span<const uint8_t> bytes) {
    // Pieces, since some systems refuse to write gigabytes at once.
    while (!bytes.empty()) {
      const std::span<const uint8_t> piece = bytes.first(std::min<size_t>(bytes.size(), 16 * kChunkBytes));
      if (!write(piece)) return false;
      bytes = bytes.subspan(piece.size());
    }
    return true;
  };
  if (!put({reinterpret_cast<const uint8_t*>(words.data()), words.size() * 8}) ||
      !put({weights.storage.data(), weights.storage.size()}) || !put(vectors))
    return error(Code::io, "the packed copy cannot be written");
  return {};
}

}  // namespace bitwin
