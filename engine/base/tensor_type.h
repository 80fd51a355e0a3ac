// The tensor element types of GGUF files that the engine reads.
#pragma once

#include <cstdint>

namespace bitwin {

// Values are those of the GGUF specification.
enum class TensorType : uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  bf16 = 30,
};

struct TensorTypeInfo {
  TensorType type;
  const char* name;   // as the field writes it, e.g. "Q4_K"
  int32_t block;      // elements per block; a row is a whole number of blocks
  int32_t bytes;      // bytes per block
};

// The description of a type, or null for a type the engine does not read.
const TensorTypeInfo* tensor_type_info(uint32_t type);
inline const TensorTypeInfo* tensor_type_info(TensorType type) { return tensor_type_info(static_cast<uint32_t>(type)); }

// The published name of any GGUF type number, read or not ("IQ4_NL"), or null when unknown.
const char* tensor_type_name(uint32_t type);

}  // namespace bitwin
