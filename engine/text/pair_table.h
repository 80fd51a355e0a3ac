// A hash table from pairs of 32-bit numbers to pairs of 32-bit numbers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bitwin {

// Open addressing with linear probing, 16 bytes an entry; keys are never removed.
class PairTable {
 public:
  struct Value {
    uint32_t first = 0;
    uint32_t second = 0;
  };

  // Makes room for `count` entries, so that adding them does not move the table.
  void reserve(size_t count) {
    const size_t wanted = std::bit_ceil(count * 3 / 2 + 8);
    if (wanted > entries_.size()) resize(wanted);
  }

  // Adds the key, or leaves the value it has; says whether it was added. `a` is below 2^32 - 1.
  bool add(uint32_t a, uint32_t b, Value value) {
    reserve(count_ + 1);
    Entry& entry = entries_[slot(a, b)];
    if (entry.a != kFree) return false;
    entry = {a, b, value};
    ++count_;
    return true;
  }

  // The key's value, or null.
  const Value* find(uint32_t a, uint32_t b) const {
    if (entries_.empty()) return nullptr;
    const Entry& entry = entries_[slot(a, b)];
    return entry.a == kFree ? nullptr : &entry.value;
  }

 private:
  static constexpr uint32_t kFree = ~uint32_t{0};
  struct Entry {
    uint32_t a = kFree;
    uint32_t b = 0;
    Value value;
  };

  size_t slot(uint32_t a, uint32_t b) const {
    uint64_t hash = (uint64_t{a} << 32 | b) * 0x9e3779b97f4a7c15u;  // Fibonacci hashing; the high half is well mixed
    hash ^= hash >> 32;
    const size_t mask = entries_.size() - 1;
    size_t i = static_cast<size_t>(hash) & mask;
    while (entries_[i].a != kFree && (entries_[i].a != a || entries_[i].b != b)) i = (i + 1) & mask;
    return i;
  }

  void resize(size_t size) {
    std::vector<Entry> old(size);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.a != kFree) entries_[slot(entry.a, entry.b)] = entry;
    }
  }

  std::vector<Entry> entries_;
  size_t count_ = 0;
};

}  // namespace bitwin
