// All RESP connections of a loop: admits them, bounds their buffers, watches and destroys them.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "contracts/loop_confined.h"
#include "server/net/net_events.h"
#include "server/net/resp/resp_connection.h"
#include "server/net/sockets/connection_sink.h"
#include "server/net/tls/tls_connection_sink.h"
#include "server/net/turn/turn.h"

namespace fairlock::net {

class RespConnections final : public ConnectionSink,
                              public TlsConnectionSink,
                              private contracts::LoopConfined {
 public:
  // `turn` must outlive it.
  RespConnections(Turn& turn, std::size_t connections_max)
      : turn_(turn), connections_max_(connections_max) {}
  RespConnections(const RespConnections&) = delete;
  RespConnections& operator=(const RespConnections&) = delete;
  // REQUIRES: no connections are left.
  ~RespConnections() = default;

  // These may be changed while the loop runs.
  void set_connections_max(std::size_t connections_max) { connections_max_ = connections_max; }
  // Sets whether a client is logged in as the user whose name is in its certificate.
  void set_certificates_log_in(bool does) { certificates_log_in_ = does; }

  // The number of open connections.
  std::size_t count() const { return connections_.size() - turn_.closed.size(); }
  // Whether no connections are left, not even closed ones that still have to be destroyed.
  bool empty() const { return connections_.empty(); }

  // Finishes the connections that have executed something or have output.
  void Finish();
  // Closes the connections with the largest buffers while the total size of all buffers exceeds its
  // bounds.
  void BoundBuffers();
  // Once a second, polls the connections that are open but not read.
  void WatchUnread();
  engine::TimeMs next_watch_at() const {
    return turn_.to_watch.empty() ? engine::kNever : watch_at_;
  }
  // Destroys some of the closed connections.
  void DestroyClosed();

  // Called when the server stops: refuses new connections, and ends all others.
  void End();
  void CloseAll(CloseReason reason);

 private:
  void TakeConnection(int descriptor, command::ClientAddress address) override;
  void TakeTlsConnection(std::unique_ptr<TlsSocket> tls, command::ClientAddress address) override;
  void LogAcceptFailed(int error) override { turn_.events.LogAcceptFailed(error, turn_.now); }
  bool CountsByAddress() const override { return true; }

  // The limit that forbids a connection from that address; none: the connection is admitted. At the
  // limit on all connections, one that has not logged in, or whose first request is incomplete,
  // gives way.
  std::optional<Refusal> WhyRefused(const command::ClientAddress& address);
  void MakeRoom();
  void Refuse(int descriptor, const command::ClientAddress& address, const Refusal& refusal,
              TlsSocket* tls);
  void Add(int descriptor, command::ClientAddress address, std::unique_ptr<TlsSocket> tls);
  void CloseLargest(std::uint32_t ConnectionBuffers::*bytes, const std::uint64_t& all,
                    std::size_t bytes_max, CloseReason reason);

  Turn& turn_;
  std::size_t connections_max_;
  bool certificates_log_in_ = false;
  bool is_ending_ = false;
  boost::intrusive::list<RespConnection> connections_;
  engine::TimeMs watch_at_ = 0;
};

}  // namespace fairlock::net
