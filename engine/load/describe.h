// Names and numbers from a file, made fit for an error message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bitwin {

// Decimal digits with thousands separators: 1,204,224.
std::string grouped(uint64_t value);

// The text with bytes outside printable ASCII as \xNN, cut after 80 bytes.
std::string shown(std::string_view text);

}  // namespace bitwin
