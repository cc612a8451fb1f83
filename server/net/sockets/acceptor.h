// Takes new connections from one listening socket.
#pragma once

#include <cstddef>

#include "contracts/loop_confined.h"
#include "server/net/sockets/connection_sink.h"
#include "server/net/sockets/descriptor.h"
#include "server/net/sockets/listening_socket.h"
#include "server/net/sockets/socket_options.h"

namespace fairlock::net {

// Owns the listening socket. It pauses when the process or the system has no descriptor left: new
// connections then wait in the kernel's backlog, and the loop does not spin.
class Acceptor : contracts::LoopConfined {
 public:
  static constexpr engine::DurationMs kPauseMs = 100;

  Acceptor(boost::asio::io_context& io, ListeningSocket socket, const SocketOptions& options);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  // REQUIRES: closed, and the loop has run once since.
  ~Acceptor();

  // Begins to wait for the first connection.
  void Start();
  // Accepts at most `accepts_max` of the connections in the backlog.
  void Accept(std::size_t accepts_max, engine::TimeMs now, ConnectionSink& sink);
  // When Accept next has something to do. 0: at once; kNever: not until the socket is ready again.
  engine::TimeMs next_accept_at() const { return is_ready_ ? paused_until_ : engine::kNever; }

  void Close();
  bool is_disposable() const { return is_closed_ && !is_waiting_; }

 private:
  void WaitForConnection();
  // True: there may be another connection.
  bool AcceptOne(engine::TimeMs now, ConnectionSink& sink);

  Descriptor descriptor_;
  const ListeningSocket socket_;
  engine::TimeMs paused_until_ = 0;
  bool is_waiting_ = false;
  bool is_ready_ = false;
  bool is_closed_ = false;
};

}  // namespace fairlock::net
