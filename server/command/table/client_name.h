// What a client may call itself and its library.
#pragma once

#include <algorithm>
#include <string_view>

namespace fairlock::command {

inline constexpr std::string_view kBadClientName =
    "Client names cannot contain spaces, newlines or special characters.";

// So that a line of CLIENT LIST stays one line, with its fields apart. The empty name is none.
inline bool IsClientName(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '!' && c <= '~'; });
}

}  // namespace fairlock::command
