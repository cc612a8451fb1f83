// Network addresses as text: "name:3247", "10.0.0.1:3247", "[::1]:3247".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fairlock::text {

// The parts of a text before and after its last colon. The views are valid as long as the text.
struct AddressParts {
  std::string_view host;                 // the whole text if it has no colon
  std::optional<std::string_view> port;  // none: the text has no colon
};
AddressParts SplitAddress(std::string_view address);

// The host without the brackets of an IPv6 address, if it has them.
std::string_view WithoutBrackets(std::string_view host);

struct Address {
  std::string host;  // without brackets
  std::uint16_t port = 0;

  friend bool operator==(const Address&, const Address&) = default;
};

// None unless the text is a host and a port. An IPv6 address must be in brackets, and nothing else
// may be.
std::optional<Address> ParseAddress(std::string_view address);

// The address with brackets if the host is an IPv6 address.
std::string JoinAddress(std::string_view host, std::uint64_t port);

}  // namespace fairlock::text
