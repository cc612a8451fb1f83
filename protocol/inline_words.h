// Splits an inline command line into words.

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

// Follows Redis: white space separates words; "..." supports the escapes \n \r \t \b \a \xHH and a
// backslash before any other byte, '...' only \'; a closing quote must end the word. `line`
// excludes the line end. Unquoted words are views into the line, others into the scratch memory of
// `out`.
SplitStatus SplitInlineWords(std::string_view line, const RequestLimits& limits, Arguments& out);

}  // namespace fairlock::protocol
