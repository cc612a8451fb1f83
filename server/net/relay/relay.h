// Passes the connections of a standby to the leader, or parks them until there is one.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "contracts/loop_confined.h"
#include "server/net/relay/alarm.h"
#include "server/net/relay/leader_dials.h"
#include "server/net/relay/leader_route.h"
#include "server/net/relay/parked_connections.h"
#include "server/net/relay/relayed_connection.h"
#include "server/net/sockets/connection_sink.h"
#include "server/net/sockets/socket_options.h"
#include "server/net/turn/turn.h"

namespace fairlock::net {

// The sink for the listening sockets of a standby.
class RelayDoor final : public ConnectionSink {
 public:
  // `turn` must outlive this.
  RelayDoor(Turn& turn, bool is_tls, std::function<void(ParkedConnection)> take)
      : turn_(turn), is_tls_(is_tls), take_(std::move(take)) {}

  void TakeConnection(int descriptor, command::ClientAddress address) override {
    take_(
        {.socket = OwnedDescriptor(descriptor), .address = std::move(address), .is_tls = is_tls_});
  }
  void LogAcceptFailed(int error) override { turn_.events.LogAcceptFailed(error, turn_.now); }

 private:
  Turn& turn_;
  const bool is_tls_;
  const std::function<void(ParkedConnection)> take_;
};

struct RelayOptions {
  std::size_t connections_max = 10'000;  // the total of parked and relayed connections
  SocketOptions sockets = {};
  engine::DurationMs parked_ms_max = 5'000;
};

// The sinks that receive the connections once this node leads.
struct OwnSinks {
  ConnectionSink& plain;
  ConnectionSink* tls = nullptr;  // null: no listening socket is for TLS
};

// Bytes are passed to the leader and back without being interpreted. A TLS connection goes to the
// leader's TLS port, any other connection to its other port. Nothing is read from a parked
// connection. The number of connections is limited, both in total and for each address.
class Relay : contracts::LoopConfined {
 public:
  // All references must outlive this. `io` is the loop's.
  Relay(boost::asio::io_context& io, Turn& turn, const RelayOptions& options,
        const OwnSinks& own_sinks);
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay() { Close(); }

  // The sinks of the listening sockets.
  ConnectionSink& door() { return doors_.plain; }
  ConnectionSink& tls_door() { return doors_.tls; }

  // Call this when the leadership has moved. Closes the relayed connections. None: no leader is
  // known.
  void SetLeader(std::optional<LeaderAddress> leader);
  // While the leader may be gone, new connections are parked; relayed ones continue.
  void SetDoubt(bool is_in_doubt);
  // Call this when no node can lead until an operator acts, possibly on this node. Its own sinks
  // take the connections until the next SetDoubt.
  void AnswerHere();
  // Call this when this node leads and can serve. Parked connections go to its own sinks, and so do
  // all that arrive from now on.
  void ServeHere();
  // Closes all connections, and those that still arrive.
  void Close();

  void set_connections_max(std::size_t count) { connections_max_ = count; }
  std::size_t parked() const { return parked_.count() + dials_.count(); }
  std::size_t relayed() const { return relayed_.count(); }

 private:
  enum class State : std::uint8_t { kStandsBy, kInDoubt, kAnswersHere, kServesHere, kClosed };

  bool hands_over() const { return state_ == State::kServesHere || state_ == State::kAnswersHere; }

  void Take(ParkedConnection client);
  void Refuse(const ParkedConnection& client, const Refusal& refusal);
  // Does what can be done for the parked connections now.
  void Advance();
  void DialFor(ParkedConnection client);
  void HandOver();
  void GiveUpOverdue();
  // Closes the connection. A client without TLS receives the error first.
  void GiveUp(const ParkedConnection& client, std::string_view error);

  Turn& turn_;
  const engine::DurationMs parked_ms_max_;
  const OwnSinks own_sinks_;
  std::size_t connections_max_;
  State state_ = State::kStandsBy;
  struct {
    RelayDoor plain;
    RelayDoor tls;
  } doors_;
  ParkedConnections parked_;
  LeaderDials dials_;
  RelayedConnections relayed_;
  Alarm alarm_;  // set while a connection is parked or dialing
};

}  // namespace fairlock::net
