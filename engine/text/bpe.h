// Byte-pair merges of one piece of text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/text/pair_table.h"
#include "engine/text/vocabulary.h"

namespace bitwin {

class Bpe {
 public:
  // Buffers that are reused from piece to piece; one for each thread.
  struct Scratch {
    struct Symbol {
      TokenId id;
      uint32_t previous, next;  // neighbours that are still there
      uint32_t rank;            // of the merge with the next symbol, kNoMerge if there is none
      TokenId merged;           // what that merge makes
    };
    std::vector<Symbol> symbols;
    std::vector<uint64_t> heap;  // rank << 32 | index of the left symbol
  };

  // `merges` are "left right", best first, in the byte alphabet. Errors: format for none, for one that is not two
  // parts, or whose parts or whole are not tokens.
  Status build(const Vocabulary& vocabulary, const std::vector<std::string>& merges);

  // Appends the tokens of `piece`, of less than 2^32 bytes, in O(n log n): always the best merge, the leftmost of
  // equals, until there is none. Bytes without a token are left out first, as the reference tokenisers do.
  void encode(std::string_view piece, std::vector<TokenId>& ids, Scratch& scratch) const;

 private:
  static constexpr uint32_t kNoMerge = ~uint32_t{0};

  // The merge of symbol `left` with its next one, into the symbol and the heap's storage; says whether there is one.
  bool find_merge(Scratch& scratch, uint32_t left) const;

  std::array<TokenId, 256> byte_ids_{};  // -1: none
  PairTable merges_;                     // (left id, right id) -> (rank, merged id)
};

}  // namespace bitwin
