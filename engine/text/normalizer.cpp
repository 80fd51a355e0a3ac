#include "engine/text/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/text/code_range.h"
#include "engine/text/utf8.h"

namespace bitwin {
namespace {

struct Character {
  char32_t code;
  int combining_class;
  size_t order;  // among the characters of a text
};

// Combining marks from Unicode 10 on. The models' tokenisers were published with, and run on, a library that has the
// tables of Unicode 9: it leaves these marks where they are.
constexpr CodeRange kLaterMarks[] = {{0x7fd, 0x7fd},     {0x898, 0x89f},     {0x8ca, 0x8d3},     {0x9fe, 0x9fe},
                                     {0xc3c, 0xc3c},     {0xd3b, 0xd3c},     {0xeba, 0xeba},     {0x1715, 0x1715},
                                     {0x1abf, 0x1ace},   {0x1df6, 0x1dfa},   {0xa82c, 0xa82c},   {0x10d24, 0x10d27},
                                     {0x10eab, 0x10eac}, {0x10efd, 0x10eff}, {0x10f46, 0x10f50}, {0x10f82, 0x10f85},
                                     {0x11070, 0x11070}, {0x1133b, 0x1133b}, {0x1145e, 0x1145e}, {0x11839, 0x1183a},
                                     {0x1193d, 0x1193e}, {0x11943, 0x11943}, {0x119e0, 0x119e0}, {0x11a34, 0x11a34},
                                     {0x11a47, 0x11a47}, {0x11a99, 0x11a99}, {0x11d42, 0x11d42}, {0x11d44, 0x11d45},
                                     {0x11d97, 0x11d97}, {0x11f41, 0x11f42}, {0x16ff0, 0x16ff1}, {0x1e08f, 0x1e08f},
                                     {0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae}, {0x1e2ec, 0x1e2ef}, {0x1e4ec, 0x1e4ef}};
constexpr char32_t kLaterComposite = 0x11938;  // the one composite of Unicode 10 to 15

int combining_class(char32_t code) {
  if (code < 0x300) return 0;
  const int value = utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->combining_class;
  return value != 0 && !within(kLaterMarks, code) ? value : 0;
}

// Appends the full canonical decomposition of `code`.
void decompose(char32_t code, std::vector<Character>& out) {
  constexpr char32_t kFirstDecomposable = 0xc0;
  if (code < kFirstDecomposable || code == kLaterComposite) {
    out.push_back({code, 0, out.size()});
    return;
  }
  utf8proc_int32_t parts[8];
  const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts, 8,
                                                         static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE), nullptr);
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    const auto part = static_cast<char32_t>(parts[i]);
    out.push_back({part, combining_class(part), out.size()});
  }
}

// The primary composite of two characters, or 0.
char32_t compose(char32_t first, char32_t second) {
  constexpr char32_t kFirstCombining = 0x300;
  constexpr char32_t kLBase = 0x1100, kLCount = 19, kVBase = 0x1161, kVCount = 21, kTBase = 0x11a7, kTCount = 28;
  constexpr char32_t kSBase = 0xac00, kSCount = kLCount * kVCount * kTCount;
  if (second < kFirstCombining) return 0;
  if (first - kLBase < kLCount && second - kVBase < kVCount) {
    return kSBase + ((first - kLBase) * kVCount + (second - kVBase)) * kTCount;
  }
  if (first - kSBase < kSCount) {
    // utf8proc 2.8 takes kTBase, which is no trailing consonant, for one: Hangul is composed here alone.
    const bool trailing = second > kTBase && second < kTBase + kTCount;
    return trailing && (first - kSBase) % kTCount == 0 ? first + (second - kTBase) : 0;
  }
  utf8proc_int32_t pair[2] = {static_cast<utf8proc_int32_t>(first), static_cast<utf8proc_int32_t>(second)};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  const bool composed = utf8proc_normalize_utf32(pair, 2, options) == 1;
  return composed && pair[0] != kLaterComposite ? static_cast<char32_t>(pair[0]) : 0;
}

// Orders and composes decomposed characters, and appends them to `out` as UTF-8; empties `characters`.
void flush(std::vector<Character>& characters, std::string& out) {
  // utf8proc's own ordering takes quadratic time.
  for (size_t i = 0; i < characters.size(); ++i) {
    if (characters[i].combining_class == 0) continue;
    size_t end = i + 1;
    while (end < characters.size() && characters[end].combining_class != 0) ++end;
    std::sort(characters.begin() + static_cast<std::ptrdiff_t>(i),
              characters.begin() + static_cast<std::ptrdiff_t>(end), [](const Character& a, const Character& b) {
                return std::pair(a.combining_class, a.order) < std::pair(b.combining_class, b.order);
              });
    i = end - 1;
  }

  constexpr size_t kNone = SIZE_MAX;
  size_t starter = kNone, kept = 0;
  int blocked_to = -1;  // the class of the last character kept after the starter; -1 right after it
  for (const Character& character : characters) {
    if (starter != kNone && character.combining_class > blocked_to) {
      if (const char32_t composite = compose(characters[starter].code, character.code)) {
        characters[starter].code = composite;
        continue;
      }
    }
    if (character.combining_class == 0) {
      starter = kept;
      blocked_to = -1;
    } else {
      blocked_to = character.combining_class;
    }
    characters[kept++] = character;
  }
  for (size_t i = 0; i < kept; ++i) utf8::append(out, characters[i].code);
  characters.clear();
}

}  // namespace

std::string_view to_nfc(std::string_view text, std::string& storage) {
  // Characters below U+0300 are in NFC already; from there on the first byte is at least 0xcc.
  constexpr uint8_t kLeadOfU0300 = 0xcc;
  const auto unaffected = [](char c) { return static_cast<uint8_t>(c) < kLeadOfU0300; };
  if (std::all_of(text.begin(), text.end(), unaffected)) return text;

  storage.clear();
  storage.reserve(text.size());
  std::vector<Character> characters;
  for (size_t position = 0; position < text.size();) {
    const utf8::Step step = utf8::decode(text, position);
    if (step.form == utf8::Form::valid) {
      decompose(step.code, characters);
    } else {
      flush(characters, storage);
      storage.append(text.substr(position, step.length));
    }
    position += step.length;
  }
  flush(characters, storage);
  return storage;
}

}  // namespace bitwin
