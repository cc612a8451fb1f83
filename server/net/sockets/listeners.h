// The listening sockets of a loop, each with the sink for its connections.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <memory>
#include <vector>

#include "contracts/loop_confined.h"
#include "server/net/sockets/acceptor.h"
#include "server/net/sockets/connection_sink.h"
#include "server/net/sockets/listening_socket.h"
#include "server/net/sockets/socket_options.h"

namespace fairlock::net {

class Listeners : contracts::LoopConfined {
 public:
  Listeners(boost::asio::io_context& io, const SocketOptions& options)
      : io_(io), options_(options) {}

  // Takes ownership of the sockets. `sink` must outlive this.
  void Start(std::vector<ListeningSocket> sockets, ConnectionSink& sink);
  // From now on, the listening sockets that passed their connections to `from` pass them to `to`,
  // which must outlive this.
  void ReplaceSink(const ConnectionSink& from, ConnectionSink& to);
  // Accepts at most `accepts_max` connections per listening socket.
  void Accept(std::size_t accepts_max, engine::TimeMs now);
  // When Accept next has something to do. 0: at once; kNever: not until a socket is ready again.
  engine::TimeMs next_accept_at() const;

  void Close();
  // Whether it is closed, and no wait for a listening socket is pending.
  bool is_disposable() const;

 private:
  struct Listener {
    std::unique_ptr<Acceptor> acceptor;
    ConnectionSink* sink;
  };

  boost::asio::io_context& io_;
  const SocketOptions options_;
  std::vector<Listener> listeners_;
};

}  // namespace fairlock::net
