// The kernels that tests compare: those of the registry that run here, and, where the build names BITWIN_TEST_KERNELS,
// kernels of instruction sets that this processor may lack, compiled with other instructions of the same effect.
#pragma once

#include <vector>

#include "engine/kernels/kernel.h"
#include "engine/kernels/registry.h"

#if defined(BITWIN_TEST_KERNELS)
namespace bitwin {
extern const KernelTable kernel_emulated_amx;
extern const KernelTable kernel_evex_avxvnni;
}  // namespace bitwin
#endif

namespace bitwin::testing {

inline std::vector<const KernelTable*> kernels() {
  std::vector<const KernelTable*> tables = supported_kernels();
#if defined(BITWIN_TEST_KERNELS)
  for (const KernelTable* table : {&kernel_emulated_amx, &kernel_evex_avxvnni})
    if (table->supported()) tables.insert(tables.begin(), table);
#endif
  return tables;
}

}  // namespace bitwin::testing
