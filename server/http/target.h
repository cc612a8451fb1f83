// Parses the target of a request, and the host that it names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlock::http {

// "/api/v1/locks/0/a%2Fb?count=3", split into path and parameters, with escapes decoded, so that
// values may contain any bytes.
struct Target {
  std::vector<std::string> segments;  // for "/", a single empty segment
  std::vector<std::pair<std::string, std::string>> parameters;

  const std::string* FindParameter(std::string_view name) const;
};

// Returns nullopt if the text is not a path as defined in RFC 3986.
std::optional<Target> ParseTarget(std::string_view target);

// If the target begins with "/api/v1/partitions/N/", removes "partitions/N/" from it and returns N.
std::optional<std::uint32_t> TakePartition(std::string& target);

// The host that a request names.
struct Host {
  std::string name;         // without the port; an IPv6 address keeps its brackets
  bool is_address = false;  // numeric, so no name was resolved
};

// Returns nullopt if the text is not a host as defined in RFC 3986, section 3.2.2, with an optional
// port.
std::optional<Host> ParseHost(std::string_view text);

}  // namespace fairlock::http
