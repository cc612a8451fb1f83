// Who may connect.
#pragma once

#include <string_view>

namespace fairlock::command {

// There is one user, without a password: as in Redis every password is right for it.
inline constexpr std::string_view kDefaultUser = "default";

inline bool IsUser(std::string_view name) { return name == kDefaultUser; }

inline bool IsAuthentic(std::string_view user, std::string_view /*password*/) {
  return IsUser(user);
}

}  // namespace fairlock::command
