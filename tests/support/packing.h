// The packed layout of docs/formats.md written down plainly, one weight at a time: what the kernels' packing must
// equal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/tensor_type.h"

namespace bitwin::testing {

// Packs a whole matrix, in whole blocks of 16 rows, from the rows of a GGUF file, whose scales must be finite.
std::vector<uint8_t> pack_plainly(TensorType type, int64_t rows, int64_t cols, std::span<const uint8_t> source);

}  // namespace bitwin::testing
