// Which names a client may give itself and its library.
#pragma once

#include <algorithm>
#include <string_view>

namespace fairlock::command {

inline constexpr std::string_view kBadClientName =
    "Client names cannot contain spaces, newlines or special characters.";

// Makes sure that a client's entry in CLIENT LIST remains one line whose fields can be told apart.
// The empty name means no name.
inline bool IsClientName(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '!' && c <= '~'; });
}

}  // namespace fairlock::command
