// What the target of a request says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlock::http {

// "/api/v1/locks/0/a%2Fb?count=3": path and parameters apart, each without its escapes, so any
// bytes may stand in them.
struct Target {
  std::vector<std::string> segments;  // of "/" a single empty one
  std::vector<std::pair<std::string, std::string>> parameters;

  const std::string* FindParameter(std::string_view name) const;
};

// None: it is not a path of RFC 3986.
std::optional<Target> ParseTarget(std::string_view target);

}  // namespace fairlock::http
