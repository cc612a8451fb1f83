// Reads a line that announces a length or a count: a letter, a decimal number and a line end.

#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "protocol/decimal.h"

namespace fairlock::protocol {

inline constexpr std::size_t kLineEndBytes = 2;

template <std::integral Number>
inline void AppendHeaderLine(std::string& out, char kind, Number number) {
  std::array<char, 2 + kDecimalDigitsMax + kDecimalSlackBytes + kLineEndBytes> line;
  line[0] = kind;
  char* end = line.data() + 1;
  auto magnitude = static_cast<std::uint64_t>(number);
  if (std::cmp_less(number, 0)) {
    *end++ = '-';
    magnitude = 0 - magnitude;
  }
  end = WriteDecimal(end, magnitude);
  *end++ = '\r';
  *end++ = '\n';
  out.append(line.data(), static_cast<std::size_t>(end - line.data()));
}

struct LengthLine {
  enum class Status : std::uint8_t { kWhole, kPartial, kInvalid, kTooLong };

  Status status = Status::kPartial;
  bool negative = false;
  std::uint64_t magnitude = 0;
  const char* end = nullptr;  // for kWhole, the end of the line
};

// Reads the part after the letter: a strict decimal integer (no leading zeros, no '+'), then CR LF.
// Each byte is checked as it arrives, so an invalid byte is reported even if the line is
// incomplete.
LengthLine ReadLengthLine(const char* begin, const char* end);

}  // namespace fairlock::protocol
