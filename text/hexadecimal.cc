#include "text/hexadecimal.h"

#include <array>

#include "text/ascii.h"

namespace fairlock::text {

namespace {

constexpr std::uint8_t kNoDigit = 0xff;

constexpr std::array<std::uint8_t, 256> MakeValues() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t value = 0; value < kHexDigits.size(); ++value) {
    const char digit = kHexDigits[value];
    values[static_cast<unsigned char>(digit)] = static_cast<std::uint8_t>(value);
    values[static_cast<unsigned char>(ToUpper(digit))] = static_cast<std::uint8_t>(value);
  }
  return values;
}

// The value of each byte that is a hexadecimal digit; other bytes have a value above 15.
constexpr std::array<std::uint8_t, 256> kValues = MakeValues();

}  // namespace

void AppendHex(std::string& out, char byte) {
  const auto value = static_cast<unsigned char>(byte);
  out.append(1, kHexDigits[value >> 4]).append(1, kHexDigits[value & 15]);
}

std::string HexOf(std::string_view bytes) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char byte : bytes) AppendHex(hex, byte);
  return hex;
}

std::string HexOf(std::span<const std::uint8_t> bytes) {
  return HexOf({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string HexOf(std::uint64_t number, std::size_t digits) {
  std::string hex(digits, '0');
  for (std::size_t i = digits; i > 0; --i, number >>= 4) hex[i - 1] = kHexDigits[number & 15];
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

void AppendEscape(std::string& out, char byte) {
  constexpr std::string_view kNamed = "\n\r\t";
  constexpr std::string_view kNames = "nrt";
  out += '\\';
  if (const std::size_t at = kNamed.find(byte); at != std::string_view::npos) {
    out += kNames[at];
    return;
  }
  out += 'x';
  AppendHex(out, byte);
}

std::string Escaped(std::string_view bytes, std::string_view others) {
  std::string escaped;
  for (const char c : bytes) {
    if (IsPrintable(c) && others.find(c) == std::string_view::npos) {
      escaped += c;
    } else {
      escaped += "\\x";
      AppendHex(escaped, c);
    }
  }
  return escaped;
}

}  // namespace fairlock::text
