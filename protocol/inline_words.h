// Splits an inline line into words.

#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/arguments.h"
#include "protocol/limits.h"

namespace fairlock::protocol {

enum class SplitStatus : std::uint8_t {
  kSplit,
  kUnbalancedQuotes,
  kZeroByte,
  kTooManyWords,
  kTooLongWord
};

// As Redis does: words are separated by white space; "..." knows \n \r \t \b \a \xHH and \ before
// any other byte, '...' knows only \'; a closing quote must end the word. `line` is without its
// line end. Words without quotes are views into the line, the others into the scratch of `out`.
SplitStatus SplitInlineWords(std::string_view line, const RequestLimits& limits, Arguments& out);

}  // namespace fairlock::protocol
