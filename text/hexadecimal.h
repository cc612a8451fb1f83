// Writes bytes as hexadecimal digits, two per byte, and reads them. Makes bytes fit for a line of
// printable ASCII by escapes such as \x1b.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fairlock::text {

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

// HexOf and AppendHex use lower case.
std::string HexOf(std::span<const std::uint8_t> bytes);
std::string HexOf(std::string_view bytes);
// The last `digits` digits of the number, with zeros in front.
std::string HexOf(std::uint64_t number, std::size_t digits);
void AppendHex(std::string& out, char byte);

// Accepts both cases. Returns false, and leaves `to` unspecified, unless there are exactly two
// valid digits for each byte of `to`.
[[nodiscard]] bool ParseHex(std::string_view digits, std::span<std::uint8_t> to);

// Appends \n, \r or \t, or \xHH for any other byte.
void AppendEscape(std::string& out, char byte);

// Replaces each byte that is not printable ASCII, and each of `others`, by \xHH.
std::string Escaped(std::string_view bytes, std::string_view others);

}  // namespace fairlock::text
