// Takes new connections from one listening socket.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

#include "server/command/client/client.h"
#include "server/net/sockets/descriptor.h"
#include "server/net/sockets/listening_socket.h"
#include "server/net/sockets/socket_options.h"

namespace fairlock::net {

// The owner of the accepted connections. Loop-confined.
class ConnectionSink {
 public:
  // Owns the descriptor from now on, also to close it at once.
  virtual void TakeConnection(int descriptor, command::ClientAddress address) = 0;
  virtual void LogAcceptFailed(int error) = 0;
  // How many it can take now; the others wait in the kernel.
  virtual std::size_t Room() const { return std::numeric_limits<std::size_t>::max(); }

 protected:
  ~ConnectionSink() = default;
};

// Owns the listening socket. When the process or the system has no descriptor left it pauses: who
// wants to connect waits in the kernel's backlog, and the loop does not spin. Loop-confined.
class Acceptor {
 public:
  static constexpr engine::DurationMs kPauseMs = 100;

  Acceptor(boost::asio::io_context& io, ListeningSocket socket, const SocketOptions& options);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  // REQUIRES: closed, and the loop has run once since.
  ~Acceptor();

  // Begins to wait for the first connection.
  void Start();
  // Takes what waits to be accepted, at most `accepts_max`.
  void Accept(std::size_t accepts_max, engine::TimeMs now, ConnectionSink& keeper);
  // When Accept has something to do: 0 at once, kNever after the next readiness.
  engine::TimeMs next_accept_at() const { return is_ready_ ? paused_until_ : engine::kNever; }

  void Close();
  bool is_disposable() const { return is_closed_ && !is_waiting_; }

 private:
  void WaitForConnection();
  // True: go on with the next one.
  bool AcceptOne(engine::TimeMs now, ConnectionSink& keeper);

  Descriptor descriptor_;
  const ListeningSocket socket_;
  engine::TimeMs paused_until_ = 0;
  bool is_waiting_ = false;
  bool is_ready_ = false;
  bool is_closed_ = false;
};

}  // namespace fairlock::net
