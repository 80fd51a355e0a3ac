// Finds special tokens in a text, in time linear in the text whatever it and the tokens look like.
// Method: Aho and Corasick 1975, on the reversed tokens over the reversed text: the automaton's state at a
// position then gives the longest token that starts there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/text/pair_table.h"
#include "engine/text/vocabulary.h"

namespace bitwin {

class SpecialMatcher {
 public:
  struct Match {
    size_t position;
    TokenId id;
  };

  // Takes the vocabulary's special tokens. unsupported when they hold more than 16 MiB of text.
  Status build(const Vocabulary& vocabulary);

  // Matches that do not overlap, in ascending order: at the leftmost position first, the longest there.
  // Control tokens are seen only with `control`.
  std::vector<Match> find(const Vocabulary& vocabulary, std::string_view text, bool control) const;

 private:
  // Per state: the longest token (reversed) that ends in it, -1 for none; among all, and among user-defined ones.
  struct State {
    uint32_t failure = 0;
    TokenId any = -1;
    TokenId user_defined = -1;
  };
  uint32_t next(uint32_t state, uint8_t byte) const;

  std::vector<State> states_;          // 0 is the root
  std::array<uint32_t, 256> start_{};  // the root's transitions
  PairTable transitions_;              // (state, byte) -> (state, 0), of the other states
};

}  // namespace bitwin
