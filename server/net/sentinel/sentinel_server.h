// The connections to the Sentinel port.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>

#include "contracts/loop_confined.h"
#include "server/net/loop/turn_loop.h"
#include "server/net/sentinel/sentinel_connection.h"
#include "server/net/sockets/connection_sink.h"
#include "server/sentinel/leader_watch.h"

namespace fairlock::net {

// Runs in the turns of the loop. At the limit, the connection that has been incomplete the longest
// gives way to a new one; if all are complete, the new one receives an error and is closed.
// Loop-confined; destroyed before the loop.
class SentinelServer final : public ConnectionSink,
                             public SentinelConnectionOwner,
                             private contracts::LoopConfined {
 public:
  // `loop` and `watch` must outlive it.
  SentinelServer(TurnLoop& loop, const sentinel::LeaderWatch& watch, std::size_t connections_max)
      : loop_(loop), watch_(watch), connections_max_(connections_max) {}
  SentinelServer(const SentinelServer&) = delete;
  SentinelServer& operator=(const SentinelServer&) = delete;
  ~SentinelServer() { Close(); }

  void Publish(const sentinel::Message& message);
  // Refuses new connections from now on, and closes all others.
  void Close();

  void TakeConnection(int descriptor, command::ClientAddress address) override;
  void LogAcceptFailed(int error) override {
    loop_.turn().events.LogAcceptFailed(error, loop_.turn().now);
  }
  void Remove(const SentinelConnection* connection) override { connections_.erase(connection); }

 private:
  // Closes the connection that gives way first, if any does.
  void MakeRoom();
  void Refuse(int descriptor, const command::ClientAddress& address);

  TurnLoop& loop_;
  const sentinel::LeaderWatch& watch_;
  const std::size_t connections_max_;
  std::unordered_map<const SentinelConnection*, std::shared_ptr<SentinelConnection>> connections_;
  bool is_closed_ = false;
};

}  // namespace fairlock::net
