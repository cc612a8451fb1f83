// Bytes as hexadecimal digits, two for each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fairlock::protocol {

// In lower case.
std::string HexOf(std::span<const std::uint8_t> bytes);

// From digits of either case. False: these are not two for each byte of `to`, which then has any
// values.
[[nodiscard]] bool ParseHex(std::string_view digits, std::span<std::uint8_t> to);

}  // namespace fairlock::protocol
