// Converts bytes to hexadecimal digits, two per byte, and back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fairlock::protocol {

// Uses lower case.
std::string HexOf(std::span<const std::uint8_t> bytes);

// Accepts both cases. Returns false, and leaves `to` unspecified, unless there are exactly two
// valid digits for each byte of `to`.
[[nodiscard]] bool ParseHex(std::string_view digits, std::span<std::uint8_t> to);

}  // namespace fairlock::protocol
