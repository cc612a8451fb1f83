#include "protocol/hexadecimal.h"

#include <array>

namespace fairlock::protocol {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

constexpr std::uint8_t kNoDigit = 0xff;

constexpr std::array<std::uint8_t, 256> MakeValues() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t value = 0; value < kDigits.size(); ++value) {
    const auto digit = static_cast<unsigned char>(kDigits[value]);
    values[digit] = static_cast<std::uint8_t>(value);
    if (value >= 10) values[digit - 'a' + 'A'] = static_cast<std::uint8_t>(value);
  }
  return values;
}

// The value of each byte that is a hexadecimal digit; other bytes have a value above 15.
constexpr std::array<std::uint8_t, 256> kValues = MakeValues();

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
  unsigned all = 0;  // above 15 if any byte is not a digit
  for (std::size_t i = 0; i < to.size(); ++i) {
    const unsigned high = kValues[static_cast<unsigned char>(digits[2 * i])];
    const unsigned low = kValues[static_cast<unsigned char>(digits[2 * i + 1])];
    all |= high | low;
    to[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return all < 16;
}

}  // namespace fairlock::protocol
