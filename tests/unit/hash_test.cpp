#include "engine/base/hash.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/catch.h"

namespace {

// Byte i of the input is 7 i + 3; the values were computed by the reference implementation of xxHash.
struct Vector {
  size_t bytes;
  uint64_t seed_0;
  uint64_t seed_golden;  // with seed 0x9E3779B97F4A7C15
};
constexpr Vector kVectors[] = {
    {0, 0xef46db3751d8e999, 0xc4349fc93c010000},   {1, 0x1f25c8d0bc1f4bb6, 0x79826bcd749d267a},
    {3, 0x31d2363f52e564c9, 0x78efd77575e26575},   {4, 0x9bb64b7d66ee9fda, 0x6f0a6c97d68bf353},
    {7, 0x9a7b149959ce60d8, 0xd97ede93c9d66a0d},   {8, 0xdab99d95c6f90092, 0xa2f1e28437a78a1b},
    {15, 0x1b47cb8243cc8e32, 0xe2ec50a544faec61},  {16, 0x434850232b787be2, 0x93351859a7286376},
    {31, 0xa2aa5f33cc4a6119, 0x755437271d1d0a84},  {32, 0x23c3c17ef790fd97, 0xbf624b932c090428},
    {33, 0x50a7cfc7ba588784, 0x7aceaf1e9d34ea35},  {63, 0x5e3e54b431c7493c, 0x2c8ddce5c85d0d9d},
    {64, 0x0eb64b3ef6eeb01f, 0x4af341f14e3a6fc9},  {100, 0xa61f8d4c170fe531, 0xf6d8f65c625abb4f},
    {1000, 0x5f235fa033f1a3fb, 0x442acd0a822e86f6}};

}  // namespace

TEST_CASE("hash64 is XXH64 for every length of tail and for seeds") {
  for (const Vector& vector : kVectors) {
    std::vector<uint8_t> bytes(vector.bytes);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(7 * i + 3);
    CAPTURE(vector.bytes);
    CHECK(bitwin::hash64(bytes.data(), bytes.size()) == vector.seed_0);
    CHECK(bitwin::hash64(bytes.data(), bytes.size(), 0x9E3779B97F4A7C15) == vector.seed_golden);
  }
  CHECK(bitwin::hash64("abc", 3) == 0x44bc2cf5ad770999);
}

TEST_CASE("hash64 does not depend on alignment") {
  std::vector<uint8_t> storage(1100);
  for (size_t shift = 0; shift < 16; ++shift) {
    for (size_t i = 0; i < 1000; ++i) storage[shift + i] = static_cast<uint8_t>(7 * i + 3);
    CHECK(bitwin::hash64(storage.data() + shift, 1000) == 0x5f235fa033f1a3fb);
  }
}

TEST_CASE("hex64 writes sixteen lower-case digits") {
  CHECK(bitwin::hex64(0) == "0000000000000000");
  CHECK(bitwin::hex64(0x0123456789abcdef) == "0123456789abcdef");
  CHECK(bitwin::hex64(UINT64_MAX) == "ffffffffffffffff");
}
