#include "engine/text/pre_tokenizer.h"

#include <utf8proc.h>

#include <array>
#include <cstdint>

#include "engine/text/code_range.h"
#include "engine/text/utf8.h"

namespace bitwin {
namespace {

// Letters are \p{L}, numbers \p{N}, spaces and newlines (CR and LF) together \s.
enum class Class : uint8_t { other, letter, number, space, newline, invalid, end };

// Letters and numbers of Unicode 15.1 and 16, so that the split does not depend on utf8proc's version.
constexpr CodeRange kLaterLetters[] = {{0x1c89, 0x1c8a},   {0xa7cb, 0xa7cd},   {0xa7da, 0xa7dc},   {0x105c0, 0x105f3},
                                       {0x10d4a, 0x10d65}, {0x10d6f, 0x10d85}, {0x10ec2, 0x10ec4}, {0x11380, 0x11389},
                                       {0x1138b, 0x1138b}, {0x1138e, 0x1138e}, {0x11390, 0x113b5}, {0x113b7, 0x113b7},
                                       {0x113d1, 0x113d1}, {0x113d3, 0x113d3}, {0x11bc0, 0x11be0}, {0x13460, 0x143fa},
                                       {0x16100, 0x1611d}, {0x16d40, 0x16d6c}, {0x18cff, 0x18cff}, {0x1e5d0, 0x1e5ed},
                                       {0x1e5f0, 0x1e5f0}, {0x2ebf0, 0x2ee5d}};
constexpr CodeRange kLaterNumbers[] = {{0x10d40, 0x10d49}, {0x116d0, 0x116e3}, {0x11bf0, 0x11bf9}, {0x16130, 0x16139},
                                       {0x16d70, 0x16d79}, {0x1ccf0, 0x1ccf9}, {0x1e5f1, 0x1e5fa}};

// White_Space beyond ASCII.
bool is_space(char32_t code) {
  return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 ||
         code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

// The class of a code point beyond ASCII.
Class find_class(char32_t code) {
  if (is_space(code)) return Class::space;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return Class::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return Class::number;
    case UTF8PROC_CATEGORY_CN:
      if (within(kLaterLetters, code)) return Class::letter;
      return within(kLaterNumbers, code) ? Class::number : Class::other;
    default:
      return Class::other;
  }
}

constexpr std::array<Class, 128> kAsciiClasses = [] {
  std::array<Class, 128> classes{};
  for (char32_t code = 0; code < 128; ++code) {
    const char32_t lower = code | 0x20;
    if (code == '\r' || code == '\n')
      classes[code] = Class::newline;
    else if (code == ' ' || (code >= 0x9 && code <= 0xd))
      classes[code] = Class::space;
    else if (lower >= 'a' && lower <= 'z')
      classes[code] = Class::letter;
    else if (code >= '0' && code <= '9')
      classes[code] = Class::number;
    else
      classes[code] = Class::other;
  }
  return classes;
}();

struct Character {
  Class type = Class::end;
  char32_t code = 0;
  size_t end = 0;  // the position behind it

  bool is_space() const { return type == Class::space || type == Class::newline; }
  // Matches [^\s\p{L}\p{N}].
  bool is_other() const { return type == Class::other; }
};

class Scanner {
 public:
  Scanner(Split split, std::string_view text) : split_(split), text_(text) {}

  size_t piece_end(size_t position) const {
    const Character first = at(position);
    if (first.type == Class::invalid) return first.end;
    if (first.code == '\'') {
      if (const size_t end = contraction_end(first.end)) return end;
    }
    return joins_any_prefix() ? modern_end(position, first) : gpt2_end(position, first);
  }

 private:
  bool joins_any_prefix() const { return split_ == Split::qwen2 || split_ == Split::llama3; }

  Character at(size_t position) const {
    if (position >= text_.size()) return {Class::end, 0, position};
    const auto byte = static_cast<uint8_t>(text_[position]);
    if (byte < 0x80) return {kAsciiClasses[byte], byte, position + 1};
    const utf8::Step step = utf8::decode(text_, position);
    if (step.form != utf8::Form::valid) return {Class::invalid, 0, position + 1};
    return {find_class(step.code), step.code, position + step.length};
  }

  // The end of the run of characters of one type from `position` on, at most `most` of them.
  size_t run_end(size_t position, Class type, size_t most = SIZE_MAX) const {
    for (; most > 0; --most) {
      const Character next = at(position);
      if (next.type != type) break;
      position = next.end;
    }
    return position;
  }

  // The end of s, t, re, ve, m, ll or d after an apostrophe, or 0. Where case does not matter, the long s is an s too.
  size_t contraction_end(size_t position) const {
    const auto letter = [&](const Character& character) -> char32_t {
      if (!joins_any_prefix()) return character.code;
      if (character.code == 0x17f) return 's';
      return character.code >= 'A' && character.code <= 'Z' ? character.code + ('a' - 'A') : character.code;
    };
    const Character first = at(position);
    switch (letter(first)) {
      case 's':
      case 't':
      case 'm':
      case 'd':
        return first.end;
      case 'r':
      case 'v':
      case 'l': {
        const Character second = at(first.end);
        return letter(second) == (letter(first) == 'l' ? 'l' : 'e') ? second.end : 0;
      }
      default:
        return 0;
    }
  }

  size_t modern_end(size_t position, const Character& first) const {
    if (first.type == Class::letter) return run_end(first.end, Class::letter);
    if (first.type == Class::number) return split_ == Split::qwen2 ? first.end : run_end(position, Class::number, 3);
    const Character second = at(first.end);
    if (first.type != Class::newline && second.type == Class::letter) return run_end(second.end, Class::letter);
    if (first.is_other() || (first.code == ' ' && second.is_other())) {
      return run_end(run_end(first.end, Class::other), Class::newline);
    }
    return spaces_end(position);
  }

  size_t gpt2_end(size_t position, const Character& first) const {
    const Character lead = first.code == ' ' ? at(first.end) : first;
    const bool alone = split_ == Split::smollm;
    if (lead.type == Class::number && alone) return first.is_space() ? first.end : lead.end;
    if (lead.type == Class::letter || lead.type == Class::number || lead.is_other())
      return run_end(lead.end, lead.type);
    return spaces_end(position);
  }

  // A run of spaces: up to its last newline, where newlines are a piece's end; else without the last space,
  // which goes to what follows, unless nothing does.
  size_t spaces_end(size_t position) const {
    size_t here = position, last = position, newline_end = 0;
    Character next = at(here);
    while (next.is_space()) {
      last = here;
      here = next.end;
      if (next.type == Class::newline) newline_end = here;
      next = at(here);
    }
    if (joins_any_prefix() && newline_end > 0) return newline_end;
    const bool nothing_follows = next.type == Class::end || (split_ == Split::smollm && next.type == Class::number);
    return nothing_follows || last == position ? here : last;
  }

  Split split_;
  std::string_view text_;
};

}  // namespace

std::optional<PreTokenizer> find_pre_tokenizer(std::string_view name) {
  if (name == "qwen2" || name == "deepseek-r1-qwen") return PreTokenizer{.split = Split::qwen2, .nfc = true};
  if (name == "smollm") return PreTokenizer{.split = Split::smollm};
  if (name == "gpt-2") return PreTokenizer{.split = Split::gpt2};
  if (name == "llama-bpe" || name == "llama3") return PreTokenizer{.split = Split::llama3, .whole_pieces = true};
  return std::nullopt;
}

size_t piece_end(Split split, std::string_view text, size_t position) {
  return Scanner(split, text).piece_end(position);
}

}  // namespace bitwin
