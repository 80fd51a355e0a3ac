// Unicode normalisation form C (Unicode Standard Annex 15).
#pragma once

#include <string>
#include <string_view>

namespace bitwin {

// `text` in NFC. What is not UTF-8 stays as it is, and nothing combines across it. Time is O(n log n) in the
// longest sequence of combining marks, linear in the rest. The result is `text` itself or lies in `storage`.
std::string_view to_nfc(std::string_view text, std::string& storage);

}  // namespace bitwin
