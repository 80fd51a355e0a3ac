#include "engine/base/hash.h"

#include <bit>
#include <cstring>

namespace bitwin {
namespace {

// The constants and steps are those of the XXH64 specification (Yann Collet, xxHash fast digest algorithm, version
// 0.2).
constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5;

template <class T>
T load_little(const uint8_t* bytes) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

uint64_t round(uint64_t accumulator, uint64_t lane) { return std::rotl(accumulator + lane * kPrime2, 31) * kPrime1; }

uint64_t merge(uint64_t hash, uint64_t accumulator) { return (hash ^ round(0, accumulator)) * kPrime1 + kPrime4; }

}  // namespace

uint64_t hash64(const void* data, size_t bytes, uint64_t seed) {
  const uint8_t* p = static_cast<const uint8_t*>(data);
  size_t left = bytes;
  uint64_t hash;
  if (left >= 32) {
    uint64_t a = seed + kPrime1 + kPrime2, b = seed + kPrime2, c = seed, d = seed - kPrime1;
    for (; left >= 32; p += 32, left -= 32) {
      a = round(a, load_little<uint64_t>(p));
      b = round(b, load_little<uint64_t>(p + 8));
      c = round(c, load_little<uint64_t>(p + 16));
      d = round(d, load_little<uint64_t>(p + 24));
    }
    hash = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
    hash = merge(merge(merge(merge(hash, a), b), c), d);
  } else {
    hash = seed + kPrime5;
  }
  hash += bytes;
  for (; left >= 8; p += 8, left -= 8)
    hash = std::rotl(hash ^ round(0, load_little<uint64_t>(p)), 27) * kPrime1 + kPrime4;
  for (; left >= 4; p += 4, left -= 4)
    hash = std::rotl(hash ^ load_little<uint32_t>(p) * kPrime1, 23) * kPrime2 + kPrime3;
  for (; left > 0; ++p, --left) hash = std::rotl(hash ^ *p * kPrime5, 11) * kPrime1;
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

std::string hex64(uint64_t value) {
  std::string digits(16, '0');
  for (size_t i = digits.size(); i-- > 0; value >>= 4) digits[i] = "0123456789abcdef"[value & 15];
  return digits;
}

}  // namespace bitwin
