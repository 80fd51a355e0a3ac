// The tokens of a vocabulary: their bytes in one arena, their kinds, and the way back from bytes to ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/text/tokenizer.h"

namespace bitwin {

class Vocabulary {
 public:
  // Errors: format for an empty list, kinds of another length or unknown, or more text than 32-bit offsets reach.
  Status build(const std::vector<std::string>& tokens, const std::vector<int64_t>& kinds);

  int64_t size() const { return static_cast<int64_t>(kinds_.size()); }
  bool contains(int64_t id) const { return id >= 0 && id < size(); }

  // The bytes of a token, the byte alphabet undone. `id` is within range, here and below.
  std::string_view bytes(TokenId id) const {
    const auto i = static_cast<size_t>(id);
    return {arena_.data() + offsets_[i], offsets_[i + 1] - offsets_[i]};
  }
  TokenKind kind(TokenId id) const { return kinds_[static_cast<size_t>(id)]; }

  // Control tokens and those of unknown text: they are parsed only on request, and not written out.
  bool is_control(TokenId id) const { return kind(id) == TokenKind::control || kind(id) == TokenKind::unknown; }
  // Tokens that are found in a text before it is split.
  bool is_special(TokenId id) const { return is_control(id) || kind(id) == TokenKind::user_defined; }

  // The first token with exactly these bytes among the special ones or among the others, or -1.
  TokenId find_special(std::string_view bytes) const { return find(special_, bytes); }
  TokenId find_normal(std::string_view bytes) const { return find(normal_, bytes); }

  const std::vector<TokenId>& specials() const { return specials_; }

 private:
  using Table = std::vector<TokenId>;  // open addressing; a power of two of slots, -1 where free
  TokenId find(const Table& table, std::string_view bytes) const;
  void add(Table& table, TokenId id);

  std::string arena_;
  std::vector<uint32_t> offsets_;
  std::vector<TokenKind> kinds_;
  std::vector<TokenId> specials_;
  Table normal_, special_;
};

// Undoes GPT-2's byte alphabet (printable bytes stand for themselves, the others for U+0100 on) and appends the
// bytes to `out`. A text with any other character is appended as it is, as Hugging Face's decoder does.
void append_alphabet_bytes(std::string& out, std::string_view text);

// `text` for an error message: shortened, with what is not printable ASCII as \xNN.
std::string printable(std::string_view text);

}  // namespace bitwin
