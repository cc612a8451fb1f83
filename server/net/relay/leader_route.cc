#include "server/net/relay/leader_route.h"

#include <utility>

#include "text/address.h"

namespace fairlock::net {

void LeaderRoute::Set(std::optional<LeaderAddress> leader) {
  AssertInLoop();
  leader_ = std::move(leader);
  addresses_.clear();
  paused_until_ = 0;
  resolver_.Cancel();
  if (leader_) Resolve();
}

void LeaderRoute::Retry(engine::TimeMs now) {
  AssertInLoop();
  const bool has_failed = leader_ && addresses_.empty() && !resolver_.is_resolving();
  if (!has_failed || now < paused_until_) return;
  paused_until_ = now + kResolvePauseMs;
  Resolve();
}

void LeaderRoute::Resolve() {
  resolver_.Resolve(leader_->host, [this](HostAddresses addresses) {
    addresses_ = std::move(addresses);
    if (addresses_.empty()) return;
    paused_until_ = 0;
    on_open_();
  });
}

Dial::Endpoints LeaderRoute::EndpointsOf(std::uint16_t port) const {
  Dial::Endpoints endpoints;
  for (const auto& address : addresses_) endpoints.emplace_back(address, port);
  return endpoints;
}

std::optional<LeaderAddress> ParseLeaderAddress(std::string_view text) {
  auto address = text::ParseAddress(text);
  if (!address) return std::nullopt;
  return LeaderAddress{.host = std::move(address->host), .port = address->port};
}

}  // namespace fairlock::net
