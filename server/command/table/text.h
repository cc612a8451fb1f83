// Compares, parses and shows the bytes that clients send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/engine/api/glob.h"
#include "text/ascii.h"
#include "text/number.h"

namespace fairlock::command {

using engine::MatchesGlob;
using text::EqualsIgnoreCase;
using text::Lowered;
using text::ToLower;
using text::ToUpper;

// Parses a whole decimal number with an optional minus sign; nullopt for other text or overflow.
inline std::optional<std::int64_t> ParseInteger(std::string_view digits) {
  return text::ParseNumber<std::int64_t>(digits);
}

// Makes bytes fit for messages: shows unprintable bytes and quotes as \xHH, and truncates after
// `bytes_max` bytes.
std::string Escaped(std::string_view bytes, std::size_t bytes_max = 64);

// Like Escaped, but in single quotes.
std::string Quoted(std::string_view bytes, std::size_t bytes_max = 64);

}  // namespace fairlock::command
