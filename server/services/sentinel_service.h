// The Sentinel port: its sockets, and the messages to its subscribers.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <string>

#include "server/config/config.h"
#include "server/logging/logging.h"
#include "server/net/loop/turn_loop.h"
#include "server/net/sentinel/sentinel_server.h"
#include "server/sentinel/leader_watch.h"

namespace fairlock::server {

// Loop-confined; destroyed before the loop.
class SentinelService {
 public:
  // Connections of clients that only look up the leader are short. More than this is a mistake.
  static constexpr std::size_t kConnectionsMax = 1000;

  SentinelService(net::TurnLoop& loop, Log& log);

  // Opens the sockets, if this server is a node of a fleet and has a Sentinel port. Returns an
  // empty string, or the error and its remedy.
  [[nodiscard]] std::string Start(const Config& config);
  void Close();

 private:
  // Looks at the leader, and publishes its changes, again and again.
  void LookAtLeader();

  net::TurnLoop& loop_;
  Log& log_;
  boost::asio::steady_timer timer_;
  std::optional<sentinel::LeaderWatch> watch_;
  std::optional<net::SentinelServer> connections_;
};

}  // namespace fairlock::server
