// Compares, parses and shows the bytes that clients send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/engine/api/glob.h"

namespace fairlock::command {

inline char ToUpper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
inline char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// ASCII only.
bool EqualsIgnoreCase(std::string_view a, std::string_view b);
std::string Lowered(std::string_view text);

// Parses a whole decimal number with an optional minus sign; nullopt for other text or overflow.
std::optional<std::int64_t> ParseInteger(std::string_view text);

using engine::MatchesGlob;

// Makes bytes fit for messages: shows unprintable bytes and quotes as \xHH, and truncates after
// `bytes_max` bytes.
std::string Escaped(std::string_view bytes, std::size_t bytes_max = 64);

// Like Escaped, but in single quotes.
std::string Quoted(std::string_view bytes, std::size_t bytes_max = 64);

}  // namespace fairlock::command
