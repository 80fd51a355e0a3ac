// The AMX kernel with tiles in plain C++, so that its products are tested on processors without AMX. It runs where the
// AVX-512 part of the kernel does.
#include <cstddef>
#include <cstdint>

namespace bitwin {
namespace {

struct TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

// Stops the program like the processor does where a tile is used against its configuration.
inline void demand(bool allowed) {
  if (!allowed) __builtin_trap();
}

struct Tiles {
  struct Register {
    int rows, row_bytes;
    uint8_t bytes[16][64];
  };
  static inline Register tiles[8];

  static bool available() { return true; }

  static void configure(const TileConfig& config) {
    demand(config.palette == 1 && config.start_row == 0);
    for (const uint8_t byte : config.reserved) demand(byte == 0);
    for (int i = 0; i < 16; ++i) {
      demand(config.rows[i] <= 16 && config.row_bytes[i] <= 64);
      demand((config.rows[i] == 0) == (config.row_bytes[i] == 0));
      demand(i < 8 || config.rows[i] == 0);
      if (i < 8) tiles[i] = {config.rows[i], config.row_bytes[i], {}};
    }
  }
  static void release() {
    for (Register& tile : tiles) tile = {};
  }

  template <int kTile>
  static void load(const void* p, int64_t stride) {
    zero<kTile>();
    for (int r = 0; r < tiles[kTile].rows; ++r)
      __builtin_memcpy(tiles[kTile].bytes[r], static_cast<const uint8_t*>(p) + r * stride,
                       static_cast<size_t>(tiles[kTile].row_bytes));
  }
  template <int kTile>
  static void store(void* p, int64_t stride) {
    demand(tiles[kTile].rows > 0);
    for (int r = 0; r < tiles[kTile].rows; ++r)
      __builtin_memcpy(static_cast<uint8_t*>(p) + r * stride, tiles[kTile].bytes[r],
                       static_cast<size_t>(tiles[kTile].row_bytes));
  }
  template <int kTile>
  static void zero() {
    demand(tiles[kTile].rows > 0);
    __builtin_memset(tiles[kTile].bytes, 0, sizeof tiles[kTile].bytes);
  }

  template <int kC, int kA, int kB>
  static void dot() {
    const Register& a = tiles[kA];
    const Register& b = tiles[kB];
    Register& c = tiles[kC];
    demand(kA != kB && kA != kC && kB != kC);
    demand(a.rows == c.rows && b.row_bytes == c.row_bytes && a.row_bytes == 4 * b.rows && c.row_bytes % 4 == 0);
    for (int i = 0; i < c.rows; ++i)
      for (int j = 0; j < c.row_bytes / 4; ++j) {
        int32_t sum;
        __builtin_memcpy(&sum, &c.bytes[i][4 * j], 4);
        for (int k = 0; k < a.row_bytes; ++k)
          sum += static_cast<int8_t>(a.bytes[i][k]) * static_cast<int8_t>(b.bytes[k / 4][4 * j + k % 4]);
        __builtin_memcpy(&c.bytes[i][4 * j], &sum, 4);
      }
  }
};

}  // namespace
}  // namespace bitwin

#define BITWIN_TILES
#define BITWIN_TABLE kernel_emulated_amx
#define BITWIN_TABLE_NAME "amx-emulated"
#include "engine/kernels/kernel_amx.cpp"
