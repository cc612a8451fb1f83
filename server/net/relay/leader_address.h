// The host and the ports on which the leader of a fleet accepts connections.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fairlock::net {

struct LeaderAddress {
  std::string host;            // a name or a numeric address
  std::uint16_t port = 0;      // 0: none
  std::uint16_t tls_port = 0;  // for TLS; 0: none

  friend bool operator==(const LeaderAddress&, const LeaderAddress&) = default;
};

// Parses "name:3247", "10.0.0.1:3247" or "[::1]:3247". None: the string has a different form.
std::optional<LeaderAddress> ParseLeaderAddress(std::string_view text);

}  // namespace fairlock::net
