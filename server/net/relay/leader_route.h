// The route to the leader: its resolved addresses, and whether they can be tried now.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "contracts/loop_confined.h"
#include "server/command/client/client.h"
#include "server/net/relay/dial.h"
#include "server/net/relay/host_resolver.h"

namespace fairlock::net {

// The host and the ports on which the leader of a fleet accepts connections.
struct LeaderAddress {
  std::string host;            // a name or a numeric address
  std::uint16_t port = 0;      // 0: none
  std::uint16_t tls_port = 0;  // for TLS; 0: none

  friend bool operator==(const LeaderAddress&, const LeaderAddress&) = default;
};

// Parses "name:3247", "10.0.0.1:3247" or "[::1]:3247". None: the string has a different form.
std::optional<LeaderAddress> ParseLeaderAddress(std::string_view text);

class LeaderRoute : contracts::LoopConfined {
 public:
  // After a failure, the leader is not tried again for this time.
  static constexpr engine::DurationMs kPauseMs = 100;
  static constexpr engine::DurationMs kResolvePauseMs = 500;

  // `on_open` is called when the addresses become known.
  LeaderRoute(boost::asio::io_context& io, std::function<void()> on_open)
      : resolver_(io), on_open_(std::move(on_open)) {}

  // Switches to another leader; none: no leader is known. May call `on_open`.
  void Set(std::optional<LeaderAddress> leader);
  const std::optional<LeaderAddress>& leader() const { return leader_; }

  bool IsOpen(engine::TimeMs now) const { return !addresses_.empty() && now >= paused_until_; }
  // Call this when the leader did not accept a connection.
  void Pause(engine::TimeMs now) { paused_until_ = now + kPauseMs; }
  // Resolves the host again if that has failed.
  void Retry(engine::TimeMs now);

  Dial::Endpoints EndpointsOf(std::uint16_t port) const;

 private:
  void Resolve();

  HostResolver resolver_;
  const std::function<void()> on_open_;
  std::optional<LeaderAddress> leader_;
  HostAddresses addresses_;
  engine::TimeMs paused_until_ = 0;
};

}  // namespace fairlock::net
