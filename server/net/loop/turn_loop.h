// The loop: one thread that owns the state and works in turns.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "server/command/server_parts.h"
#include "server/net/net_events.h"
#include "server/net/resp/resp_connection.h"
#include "server/net/sockets/acceptor.h"
#include "server/net/sockets/descriptor.h"
#include "server/net/sockets/event_descriptor.h"
#include "server/net/sockets/listening_socket.h"
#include "server/net/sockets/socket_options.h"
#include "server/net/tls/tls_handshakes.h"
#include "server/net/turn/turn.h"

namespace fairlock::net {

struct LoopOptions {
  TurnLimits limits;
  SocketOptions sockets;
  std::size_t connections_max = 10'000;
};

// A turn, in this order:
//  1. Wait until something is ready or due; receive the bytes of every ready connection that is
//     within its share, then of some of those behind.
//  2. Read the clock, once and after the last read, so that no request is judged by a time before
//     its arrival.
//  3. Release replies that the journal has completed meanwhile.
//  4. Close connections whose client is gone and whose request waits: before anything is decided,
//     so that no dead client is granted a lock.
//  5. End what is due.
//  6. Execute requests, then of those behind, then of tasks.
//  7. Hand what has changed to the journal. Then send: one write a connection, after all that this
//     turn decided, of what need not wait for the journal. Destroy what is closed.
//  8. Take new connections: last, when those that left have made room.
// Each step is bounded; what is left over follows in the next turn, which then does not wait.
//
// Owns its connections and listening sockets. Everything but the constructor is called by the
// thread that calls Run.
class TurnLoop final : public TlsConnectionSink, private ConnectionSink {
 public:
  // `server` and `events` must outlive it.
  TurnLoop(command::ServerParts& server, NetEvents& events, const LoopOptions& options);
  TurnLoop(const TurnLoop&) = delete;
  TurnLoop& operator=(const TurnLoop&) = delete;
  ~TurnLoop();

  // Takes over the sockets. What connects to them is given to `keeper`, which outlives Run; without
  // one it speaks RESP.
  void StartListening(std::vector<ListeningSocket> sockets, ConnectionSink* keeper = nullptr);
  // Works until it was asked to stop and all connections are closed.
  void Run();
  // From within Run, or before it: takes no new connections and writes the state for the last time.
  // From then on the engine is frozen. Connections whose request waits are closed without a reply,
  // all others once their output is sent.
  void RequestStop() { is_stop_asked_ = true; }
  bool is_stop_asked() const { return is_stop_asked_; }

  // From now on what the engine decides is kept, and replies wait for it; `on_change` is called
  // when the keeper is ready, has failed, or the room on its disk has become short or enough. Null:
  // nothing is kept from now on; no connection may be left whose output waits.
  void SetKeeper(persist::StateLog* keeper, std::function<void()> on_change);
  // Ends the wait of a turn. May be called by any thread.
  void Wake();

  // For other users of the loop's thread, such as signals.
  boost::asio::io_context& io_context() { return io_context_; }
  void LogAcceptFailed(int error) override;
  void TakeTlsConnection(std::unique_ptr<TlsSocket> tls, command::ClientAddress address) override;
  bool CountsByAddress() const override { return true; }

  // For tasks, which take part in its turns.
  Turn& turn() { return turn_; }
  // These may be changed while it runs.
  TurnLimits& limits() { return turn_.limits; }
  void set_connections_max(std::size_t connections_max) { connections_max_ = connections_max; }
  // Whether the name in a client's certificate is that of its user.
  void set_certificates_log_in(bool does) { certificates_log_in_ = does; }
  std::size_t connections() const { return connections_.size() - turn_.closed.size(); }

 private:
  void RunTurn();
  void BeginKeeping();
  void AwaitKeeper();
  bool IsHeldUp() const { return turn_.keeper != nullptr && turn_.keeper->is_lagging(); }
  void ReleaseHeld();
  void StopKeeping();
  void WaitForReadiness();
  bool IsWorthPolling();
  std::size_t PollForCompletion();
  // Asks to be told when a connection is ready.
  void AwaitConnections();
  void ReceiveFromReady();
  void ReceiveFromThoseBehind();
  engine::DurationMs WaitMsMax() const;
  void AcceptConnections();
  void EndDue();
  void CloseThoseWhoAreGone();
  void ExecuteRequests();
  void ExecuteBehind();
  engine::TimeMs NextRequestDeadline() const;
  void RefusePartialRequests();
  void BoundBuffers();
  void CloseThoseWithMost(std::size_t (RespConnection::*bytes_of)() const, const std::uint64_t& all,
                          std::size_t bytes_max, CloseReason reason);
  void RunTasks();
  void FinishConnections();
  void WatchConnections();
  void StopIfAsked();
  void DestroyClosed();
  void CloseEverything();

  void TakeConnection(int descriptor, command::ClientAddress address) override;
  // None: it may be taken.
  std::optional<Refusal> WhyRefused(const command::ClientAddress& address) const;
  void Refuse(int descriptor, const command::ClientAddress& address, const Refusal& refusal,
              TlsSocket* tls);
  void Add(int descriptor, command::ClientAddress address, std::unique_ptr<TlsSocket> tls);

  const SocketOptions socket_options_;
  std::size_t connections_max_;
  bool certificates_log_in_ = false;
  boost::asio::io_context io_context_;
  Turn turn_;
  struct Entrance {
    std::unique_ptr<Acceptor> acceptor;
    ConnectionSink& keeper;
  };
  std::vector<Entrance> entrances_;
  boost::intrusive::list<RespConnection> connections_;
  EventDescriptor wake_;
  std::function<void()> on_keeper_change_;
  persist::StateLogState keeper_state_;
  Descriptor ready_connections_;  // readable when a connection is ready
  bool is_awaiting_connections_ = false;
  std::uint64_t turn_began_ns_ = 0;
  std::uint64_t polled_behind_ = ~std::uint64_t{0};  // the newest complete batch then
  std::uint64_t poll_until_ns_ = 0;
  bool is_turn_held_up_ = false;       // by the journal: nothing is taken in nor executed
  std::size_t left_over_ = 0;          // so many of to_execute, from the front, of earlier turns
  std::size_t behind_to_execute_ = 0;  // so many of deferred, from the front, in this turn
  std::size_t deferred_bytes_max_ = 0;   // for as much work
  engine::TimeMs ahead_at_ = 0;        // when somebody was served who does not come behind
  engine::TimeMs request_deadlines_seen_at_ = 0;
  engine::TimeMs no_refusal_before_ = 0;  // while what came during a pause is read
  engine::TimeMs watch_at_ = 0;
  engine::TimeMs stop_until_ = engine::kNever;
  bool is_more_due_ = false;
  bool is_stop_asked_ = false;
  bool is_stopping_ = false;
};

}  // namespace fairlock::net
