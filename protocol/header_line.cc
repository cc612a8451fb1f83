#include "protocol/header_line.h"

#include <limits>

namespace fairlock::protocol {
namespace {

constexpr int kDigitsMax = 32;

// A number that does not fit into 64 bits becomes the maximum, which every limit also rejects.
std::uint64_t AppendDigit(std::uint64_t number, char digit) {
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  if (number > (kLargest - 9) / 10) return kLargest;
  return number * 10 + static_cast<std::uint64_t>(digit - '0');
}

}  // namespace

LengthLine ReadLengthLine(const char* begin, const char* end) {
  using Status = LengthLine::Status;
  LengthLine line;
  const char* at = begin;
  if (at != end && *at == '-') {
    line.negative = true;
    ++at;
  }
  const char* const digits = at;
  for (; at != end && *at >= '0' && *at <= '9'; ++at) {
    if (at - digits == kDigitsMax) return {.status = Status::kTooLong};
    const bool leading_zero = at != digits && line.magnitude == 0;
    if (leading_zero) return {.status = Status::kInvalid};
    line.magnitude = AppendDigit(line.magnitude, *at);
  }
  if (at == end) return {};
  // also true for a minus without digits
  const bool minus_zero = line.negative && line.magnitude == 0;
  if (*at != '\r' || at == digits || minus_zero) return {.status = Status::kInvalid};
  if (++at == end) return {};
  if (*at != '\n') return {.status = Status::kInvalid};
  line.status = Status::kWhole;
  line.end = at + 1;
  return line;
}

}  // namespace fairlock::protocol
