// The kernels of this build, best first.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/kernels/kernel.h"

namespace bitwin {

// Every kernel name the project knows, whether or not this build has it.
std::span<const char* const> kernel_names();

// The kernels that this build has and this processor supports, best first; never empty.
const std::vector<const KernelTable*>& supported_kernels();

// The kernel called `name`; an empty name means the environment variable BITWIN_KERNEL, or without it the best.
// Errors (unsupported): an unknown name, one that this build or this processor lacks; the message lists what there is.
Result<const KernelTable*> select_kernel(std::string_view name);

}  // namespace bitwin
