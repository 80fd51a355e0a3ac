// NEON with the dot product extension: 4 rows a register, sdot of 4 columns each.
#include <arm_neon.h>

#include "engine/base/cpu.h"
#include "engine/base/f32x16.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/layout.h"

namespace bitwin {
namespace {

#include "engine/kernels/common.inc"
#include "engine/kernels/neon_bytes.inc"

struct Isa : NeonBytes {
  static constexpr int kTokens = 8;
};

#include "engine/kernels/matmul.inc"
#include "engine/kernels/dot_peak.inc"
#include "engine/kernels/ops.inc"

bool supported() { return system::cpu_has_dotprod(); }

}  // namespace

#define BITWIN_TABLE kernel_neon_dotprod
#define BITWIN_TABLE_NAME "neon-dotprod"
#include "engine/kernels/table.inc"

}  // namespace bitwin
