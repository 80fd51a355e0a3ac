// A fast 64-bit hash, the same in every build: XXH64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bitwin {

// XXH64 (Collet) of `bytes` bytes at `data`; not for security.
uint64_t hash64(const void* data, size_t bytes, uint64_t seed = 0);

// 16 lower-case hexadecimal digits.
std::string hex64(uint64_t value);

}  // namespace bitwin
