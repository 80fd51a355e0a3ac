#include "engine/load/describe.h"

namespace bitwin {

std::string grouped(uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string shown(std::string_view text) {
  constexpr size_t kLongest = 80;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  if (text.size() > kLongest) out += "...";
  return out;
}

}  // namespace bitwin
