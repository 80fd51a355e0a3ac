// AMX with 8-bit integers, for batches: a tile of 16 tokens meets a tile of 16 rows, and every group of columns gives
// 16 x 16 exact integer sums, which AVX-512 scales and adds up. Few tokens take AVX-512 VNNI.
#include <immintrin.h>

#include "engine/base/cpu.h"
#include "engine/base/f32x16.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/layout.h"

namespace bitwin {
namespace {

#include "engine/kernels/common.inc"

#include "engine/kernels/avx512_bytes.inc"
#if !defined(BITWIN_TILES)  // which a test defines with tiles of its own
#include "engine/kernels/amx_tiles.inc"
#endif

struct Isa : Avx512Bytes {
  static constexpr int kTokens = 8;
  static constexpr int kBatch = 8;

  // Processors with tiles read a single token's weights a fifth to a third faster with this; 4 KiB was the best of 1 to
  // 8 KiB.
  BITWIN_INLINE static void read_ahead(const uint8_t* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p + 4096), _MM_HINT_T0);
  }
};

#include "engine/kernels/matmul.inc"
#include "engine/kernels/matmul_batch.inc"

#include "engine/kernels/matmul_amx.inc"
#include "engine/kernels/ops.inc"

bool supported() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni") && Tiles::available();
}

}  // namespace

#define BITWIN_MATMUL matmul_or_batch
#if !defined(BITWIN_TABLE)
#define BITWIN_TABLE kernel_amx
#define BITWIN_TABLE_NAME "amx"
#endif
#include "engine/kernels/table.inc"

}  // namespace bitwin
