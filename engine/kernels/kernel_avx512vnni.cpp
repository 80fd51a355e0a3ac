// AVX-512 with VNNI: 16 rows a register.
#include <immintrin.h>

#include "engine/base/f32x16.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/layout.h"

namespace bitwin {
namespace {

#include "engine/kernels/common.inc"
#include "engine/kernels/avx512_bytes.inc"

struct Isa : Avx512Bytes {
  static constexpr int kTokens = 8;
};

#include "engine/kernels/matmul.inc"
#include "engine/kernels/dot_peak.inc"
#include "engine/kernels/ops.inc"

bool supported() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

}  // namespace

#define BITWIN_TABLE kernel_avx512vnni
#define BITWIN_TABLE_NAME "avx512vnni"
#include "engine/kernels/table.inc"

}  // namespace bitwin
