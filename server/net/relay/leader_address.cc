#include "server/net/relay/leader_address.h"

#include <utility>

#include "text/address.h"

namespace fairlock::net {

std::optional<LeaderAddress> ParseLeaderAddress(std::string_view text) {
  auto address = text::ParseAddress(text);
  if (!address) return std::nullopt;
  return LeaderAddress{.host = std::move(address->host), .port = address->port};
}

}  // namespace fairlock::net
