// Writes decimal numbers, eight digits at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fairlock::protocol {

// WriteDecimal may overwrite up to kDecimalSlackBytes bytes after the digits, and writes at most
// kDecimalDigitsMax digits.
inline constexpr std::size_t kDecimalSlackBytes = 7;
inline constexpr std::size_t kDecimalDigitsMax = 20;

// Returns the digits of a number below 10^8 as bytes from 0 to 9, with the first digit in the
// lowest byte. Splits off all digits at once, in the lanes of one register: P. Khuong, "How to
// print integers really fast", 2017.
inline std::uint64_t EightDigits(std::uint32_t number) {
  std::uint64_t lanes = number / 10'000 | static_cast<std::uint64_t>(number % 10'000) << 32;
  const std::uint64_t hundreds = lanes * 10'486 >> 20 & 0x0000'007f'0000'007f;
  lanes = hundreds | (lanes - 100 * hundreds) << 16;
  const std::uint64_t tens = lanes * 103 >> 10 & 0x000f'000f'000f'000f;
  return tens | (lanes - 10 * tens) << 8;
}

// Writes the number and returns the end of its digits. REQUIRES: space for kDecimalDigitsMax +
// kDecimalSlackBytes.
inline char* WriteDecimal(char* to, std::uint64_t number) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::uint64_t kZeros = 0x3030'3030'3030'3030;
  constexpr std::uint64_t kBase = 100'000'000;
  if (number < 10) {
    *to = static_cast<char>('0' + number);
    return to + 1;
  }
  std::uint64_t digits = EightDigits(static_cast<std::uint32_t>(number % kBase));
  int skipped = 0;
  if (number >= kBase) {
    to = WriteDecimal(to, number / kBase);
  } else {
    skipped = std::countr_zero(digits) / 8;
  }
  digits = (digits | kZeros) >> 8 * skipped;
  std::memcpy(to, &digits, sizeof(digits));
  return to + sizeof(digits) - skipped;
}

}  // namespace fairlock::protocol
