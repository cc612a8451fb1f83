// Parses the host that a request names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fairlock::http {

struct Host {
  std::string name;         // without the port; an IPv6 address keeps its brackets
  bool is_address = false;  // numeric, so no name was resolved
};

// Returns nullopt if the text is not a host as defined in RFC 3986, section 3.2.2, with an optional
// port.
std::optional<Host> ParseHost(std::string_view text);

}  // namespace fairlock::http
