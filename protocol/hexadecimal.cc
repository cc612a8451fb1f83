#include "protocol/hexadecimal.h"

namespace fairlock::protocol {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

// The value of the digit, or -1.
int ValueOf(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

std::string HexOf(std::span<const std::uint8_t> bytes) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    hex.append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  }
  return hex;
}

bool ParseHex(std::string_view digits, std::span<std::uint8_t> to) {
  if (digits.size() != 2 * to.size()) return false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const int high = ValueOf(digits[2 * i]);
    const int low = ValueOf(digits[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    to[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

}  // namespace fairlock::protocol
