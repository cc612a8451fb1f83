// Manages the Sentinel port: opens its sockets and sends messages to its subscribers.
#pragma once

#include <optional>
#include <string>

#include "contracts/loop_confined.h"
#include "server/config/config.h"
#include "server/logging/logging.h"
#include "server/net/loop/turn_loop.h"
#include "server/net/relay/alarm.h"
#include "server/net/sentinel/sentinel_server.h"
#include "server/sentinel/leader_watch.h"

namespace fairlock::server {

// Loop-confined; destroyed before the loop.
class SentinelService : contracts::LoopConfined {
 public:
  // Connections of clients that only look up the leader are short, so more of them than this mean a
  // mistake.
  static constexpr std::size_t kConnectionsMax = 1000;

  SentinelService(net::TurnLoop& loop, Log& log);

  // Opens the sockets, if this server is a node of a fleet and has a Sentinel port. Returns an
  // empty string, or the error and what to do about it.
  [[nodiscard]] std::string Start(const Config& config);
  void Close();

 private:
  // Checks which node leads, publishes any change, and schedules the next check.
  void LookAtLeader();

  net::TurnLoop& loop_;
  Log& log_;
  net::Alarm look_;
  std::optional<sentinel::LeaderWatch> watch_;
  std::optional<net::SentinelServer> connections_;
};

}  // namespace fairlock::server
