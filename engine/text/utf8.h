// UTF-8, one character at a time (Unicode 15, section 3.9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bitwin::utf8 {

enum class Form {
  valid,       // a character
  invalid,     // bytes that can never become a character
  incomplete,  // the text ends within a character
};

struct Step {
  char32_t code = 0;    // the code point, if valid
  uint32_t length = 0;  // bytes: of the character, or of the maximal part that is invalid or incomplete; >= 1
  Form form = Form::invalid;
};

// What stands at `position`, which is within the text. Surrogates, overlong forms and code points above
// U+10FFFF are invalid.
inline Step decode(std::string_view text, size_t position) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[position + i]); };
  const uint8_t lead = at(0);
  if (lead < 0x80) return {lead, 1, Form::valid};
  if (lead < 0xc2 || lead > 0xf4) return {0, 1, Form::invalid};
  const uint32_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  uint8_t low = 0x80, high = 0xbf;  // the second byte's range
  if (lead == 0xe0) low = 0xa0;
  if (lead == 0xed) high = 0x9f;
  if (lead == 0xf0) low = 0x90;
  if (lead == 0xf4) high = 0x8f;
  char32_t code = lead & (0x7fu >> length);
  for (uint32_t i = 1; i < length; ++i) {
    if (position + i == text.size()) return {0, i, Form::incomplete};
    if (at(i) < low || at(i) > high) return {0, i, Form::invalid};
    code = code << 6 | (at(i) & 0x3fu);
    low = 0x80;
    high = 0xbf;
  }
  return {code, length, Form::valid};
}

// Appends a code point that is neither a surrogate nor above U+10FFFF.
inline void append(std::string& out, char32_t code) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
    return;
  }
  const int following = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  put((0xff80u >> following & 0xffu) | code >> (6 * following));
  for (int i = following - 1; i >= 0; --i) put(0x80 | (code >> (6 * i) & 0x3f));
}

}  // namespace bitwin::utf8
