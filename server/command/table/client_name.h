// Which names a client may give itself and its library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace fairlock::command {

// The name is stored with the connection, and shown with each lock that the connection holds.
inline constexpr std::size_t kClientNameBytesMax = 1024;

// What is wrong with such a name, to be said after "Client names "; empty: nothing. A client's
// entry in CLIENT LIST remains one line whose fields can be told apart. The empty name means no
// name.
inline std::string_view WrongInClientName(std::string_view name) {
  if (name.size() > kClientNameBytesMax) return "cannot have more than 1024 bytes.";
  const auto is_visible = [](char c) { return c >= '!' && c <= '~'; };
  if (std::all_of(name.begin(), name.end(), is_visible)) return "";
  return "cannot contain spaces, newlines or special characters.";
}

}  // namespace fairlock::command
