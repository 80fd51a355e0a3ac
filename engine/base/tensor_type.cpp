#include "engine/base/tensor_type.h"

#include <cstddef>

namespace bitwin {
namespace {

constexpr TensorTypeInfo kTypes[] = {
    {TensorType::f32, "F32", 1, 4},       {TensorType::f16, "F16", 1, 2},       {TensorType::q4_0, "Q4_0", 32, 18},
    {TensorType::q4_1, "Q4_1", 32, 20},   {TensorType::q5_0, "Q5_0", 32, 22},   {TensorType::q5_1, "Q5_1", 32, 24},
    {TensorType::q8_0, "Q8_0", 32, 34},   {TensorType::q4_k, "Q4_K", 256, 144}, {TensorType::q5_k, "Q5_K", 256, 176},
    {TensorType::q6_k, "Q6_K", 256, 210}, {TensorType::bf16, "BF16", 1, 2},
};

// By number; null where the format assigns none. Numbers that were withdrawn keep their names: old files have them.
constexpr const char* kNames[] = {
    "F32",    "F16",      "Q4_0",     "Q4_1",     "Q4_2",  "Q4_3",  "Q5_0",       "Q5_1",       "Q8_0",       "Q8_1",
    "Q2_K",   "Q3_K",     "Q4_K",     "Q5_K",     "Q6_K",  "Q8_K",  "IQ2_XXS",    "IQ2_XS",     "IQ3_XXS",    "IQ1_S",
    "IQ4_NL", "IQ3_S",    "IQ2_S",    "IQ4_XS",   "I8",    "I16",   "I32",        "I64",        "F64",        "IQ1_M",
    "BF16",   "Q4_0_4_4", "Q4_0_4_8", "Q4_0_8_8", "TQ1_0", "TQ2_0", "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8", "MXFP4",
};

}  // namespace

const TensorTypeInfo* tensor_type_info(uint32_t type) {
  for (const TensorTypeInfo& info : kTypes) {
    if (static_cast<uint32_t>(info.type) == type) return &info;
  }
  return nullptr;
}

const char* tensor_type_name(uint32_t type) {
  return type < sizeof(kNames) / sizeof(kNames[0]) ? kNames[type] : nullptr;
}

}  // namespace bitwin
