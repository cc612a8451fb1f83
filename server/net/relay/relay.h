// Passes the connections of a standby to the leader, or parks them until there is one.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/net/relay/alarm.h"
#include "server/net/relay/leader_address.h"
#include "server/net/relay/leader_dials.h"
#include "server/net/relay/parked_connections.h"
#include "server/net/relay/relay_door.h"
#include "server/net/relay/relayed_connections.h"
#include "server/net/sockets/connection_sink.h"
#include "server/net/sockets/socket_options.h"
#include "server/net/turn/turn.h"

namespace fairlock::net {

struct RelayOptions {
  std::size_t connections_max = 10'000;  // parked and relayed ones together
  SocketOptions sockets = {};
  engine::DurationMs parked_ms_max = 5'000;
};

// Where the connections go once this node leads.
struct OwnSinks {
  ConnectionSink& plain;
  ConnectionSink* tls = nullptr;  // null: no listening socket is for TLS
};

// The bytes of a connection go to the leader unread and back unread: those of TLS to the leader's
// port for TLS, all others to its other port. Nothing is read from a parked connection. The number
// of connections is bounded, in all and for each address. Loop-confined.
class Relay {
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

  // The leadership has moved: closes the relayed connections. None: no leader is known.
  void SetLeader(std::optional<LeaderAddress> leader);
  // The leader may be gone: parks new connections, and leaves the relayed ones alone.
  void SetDoubt(bool is_in_doubt);
  // Nobody can lead before an operator acts, at this node if at no other: its own sinks take the
  // connections until the next SetDoubt.
  void AnswerHere();
  // This node leads and can serve: parked connections go to its own sinks, and so do all that come
  // through the doors from now on.
  void ServeHere();
  // Closes all connections, and those that still come.
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
  // Closes the connection; a client without TLS gets the error.
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
