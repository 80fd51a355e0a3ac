#include "engine/text/vocabulary.h"

#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <limits>

#include "engine/base/hash.h"
#include "engine/text/utf8.h"

namespace bitwin {
namespace {

constexpr size_t kAlphabetEnd = 0x144;  // one past the alphabet's last code point
using AlphabetBytes = std::array<int16_t, kAlphabetEnd>;

AlphabetBytes make_alphabet_bytes() {
  AlphabetBytes bytes;
  bytes.fill(-1);
  size_t next = 0x100;
  for (size_t byte = 0; byte < 256; ++byte) {
    const bool itself = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    bytes[itself ? byte : next++] = static_cast<int16_t>(byte);
  }
  return bytes;
}

// Tokens that role markers and the like are written with, <|...|> and <｜...｜> (U+FF5C).
bool has_marker_form(std::string_view text) {
  const auto framed = [&](std::string_view open, std::string_view close) {
    return text.size() > open.size() + close.size() && text.starts_with(open) && text.ends_with(close);
  };
  return framed("<|", "|>") || framed("<\xef\xbd\x9c", "\xef\xbd\x9c>");
}

}  // namespace

void append_alphabet_bytes(std::string& out, std::string_view text) {
  static const AlphabetBytes kBytes = make_alphabet_bytes();
  const size_t start = out.size();
  for (size_t position = 0; position < text.size();) {
    const utf8::Step step = utf8::decode(text, position);
    if (step.form != utf8::Form::valid || step.code >= kAlphabetEnd || kBytes[step.code] < 0) {
      out.resize(start);
      out.append(text);
      return;
    }
    out.push_back(static_cast<char>(kBytes[step.code]));
    position += step.length;
  }
}

std::string printable(std::string_view text) {
  constexpr size_t kLongest = 40;
  std::string out;
  for (char c : text.substr(0, kLongest)) {
    if (c >= 0x20 && c < 0x7f) {
      out.push_back(c);
    } else {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(static_cast<uint8_t>(c)));
      out += escaped;
    }
  }
  if (text.size() > kLongest) out += "...";
  return out;
}

Status Vocabulary::build(const std::vector<std::string>& tokens, const std::vector<int64_t>& kinds) {
  if (tokens.empty()) return error(Code::format, "the vocabulary has no tokens (tokenizer.ggml.tokens)");
  if (tokens.size() > std::numeric_limits<TokenId>::max()) {
    return error(Code::format, "the vocabulary has %zu tokens, more than 31-bit ids reach", tokens.size());
  }
  if (!kinds.empty() && kinds.size() != tokens.size()) {
    return error(Code::format, "the vocabulary has %zu tokens but %zu token types (tokenizer.ggml.token_type)",
                 tokens.size(), kinds.size());
  }
  uint64_t text_bytes = 0;
  for (const std::string& token : tokens) text_bytes += token.size();
  if (text_bytes > std::numeric_limits<uint32_t>::max()) {
    return error(Code::format, "the vocabulary's tokens hold %" PRIu64 " bytes, more than 32-bit offsets reach",
                 text_bytes);
  }

  arena_.reserve(text_bytes);
  offsets_.reserve(tokens.size() + 1);
  kinds_.reserve(tokens.size());
  offsets_.push_back(0);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const int64_t number = kinds.empty() ? static_cast<int64_t>(TokenKind::normal) : kinds[i];
    if (number < static_cast<int64_t>(TokenKind::normal) || number > static_cast<int64_t>(TokenKind::byte)) {
      return error(Code::format, "token %zu (%s) has the unknown type %" PRId64, i, printable(tokens[i]).c_str(),
                   number);
    }
    auto kind = static_cast<TokenKind>(number);
    // Converters write role markers that their tokenizer.json does not call special as user-defined; parsed in a
    // user's text they would let it speak in any role.
    if (kind == TokenKind::user_defined && has_marker_form(tokens[i])) kind = TokenKind::control;
    kinds_.push_back(kind);
    const auto id = static_cast<TokenId>(i);
    if (is_special(id)) {
      arena_ += tokens[i];
      specials_.push_back(id);
    } else {
      append_alphabet_bytes(arena_, tokens[i]);
    }
    offsets_.push_back(static_cast<uint32_t>(arena_.size()));
  }
  arena_.shrink_to_fit();

  special_.assign(std::bit_ceil(2 * specials_.size() + 1), -1);
  normal_.assign(std::bit_ceil(2 * (tokens.size() - specials_.size()) + 1), -1);
  for (int64_t id = 0; id < size(); ++id) {
    const auto token = static_cast<TokenId>(id);
    add(is_special(token) ? special_ : normal_, token);
  }
  return {};
}

TokenId Vocabulary::find(const Table& table, std::string_view wanted) const {
  const size_t mask = table.size() - 1;
  size_t i = static_cast<size_t>(hash64(wanted.data(), wanted.size())) & mask;
  while (table[i] >= 0 && bytes(table[i]) != wanted) i = (i + 1) & mask;
  return table[i];
}

void Vocabulary::add(Table& table, TokenId id) {
  const std::string_view text = bytes(id);
  const size_t mask = table.size() - 1;
  size_t i = static_cast<size_t>(hash64(text.data(), text.size())) & mask;
  while (table[i] >= 0) {
    if (bytes(table[i]) == text) return;
    i = (i + 1) & mask;
  }
  table[i] = id;
}

}  // namespace bitwin
