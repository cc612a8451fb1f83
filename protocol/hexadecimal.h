// Bytes as hexadecimal digits, two per byte.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fairlock::protocol {

// Uses lower case.
std::string HexOf(std::span<const std::uint8_t> bytes);

// Accepts both cases. Returns false unless there are exactly two valid digits for each byte of
// `to`, which is then unspecified.
[[nodiscard]] bool ParseHex(std::string_view digits, std::span<std::uint8_t> to);

}  // namespace fairlock::protocol
