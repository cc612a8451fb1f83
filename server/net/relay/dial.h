// Connects to the first of several addresses that accepts a connection.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "server/net/sockets/descriptor.h"
#include "server/net/sockets/socket_options.h"

namespace fairlock::net {

struct DialOutcome {
  OwnedDescriptor socket;   // not open: no address accepted
  bool is_refused = false;  // every address refused: no process listens on the port
};

// Its pending operations keep it alive. Loop-confined.
class Dial final : public std::enable_shared_from_this<Dial> {
 public:
  using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;

  // Calls `done` once, after this call has returned, unless Cancel is called first.
  static std::shared_ptr<Dial> Start(boost::asio::io_context& io, Endpoints endpoints,
                                     const SocketOptions& options,
                                     std::function<void(DialOutcome)> done);
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;
  ~Dial();

  void Cancel();

 private:
  Dial(boost::asio::io_context& io, Endpoints endpoints, const SocketOptions& options,
       std::function<void(DialOutcome)> done);

  void TryNext();
  // Returns an errno, or 0 if the connection is being made.
  int Begin(const boost::asio::ip::tcp::endpoint& endpoint);
  void OnWritable();
  void CountFailure(int error);
  void End(DialOutcome outcome);

  boost::asio::io_context& io_;
  const Endpoints endpoints_;
  const SocketOptions options_;
  std::function<void(DialOutcome)> done_;  // null: the dial is over
  std::size_t next_ = 0;
  bool is_refused_ = true;  // whether every address tried so far has refused
  OwnedDescriptor socket_;
  Descriptor readiness_;  // of socket_
};

}  // namespace fairlock::net
