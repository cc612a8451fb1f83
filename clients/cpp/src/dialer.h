// Opens connections for the links of a client.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "fairlock/client.h"
#include "resolver.h"
#include "resp.h"
#include "stream.h"

namespace fairlock::client {

using StreamPtr = std::shared_ptr<Stream>;

// Loop-confined.
class Dialer {
 public:
  enum class Peer { kServer, kSentinel };
  struct Opened {
    StreamPtr stream;
    Value reply;  // the reply to the first request
  };

  // Throws Refused if a file of the settings cannot be used.
  Dialer(boost::asio::io_context& io, Settings settings);

  // Connects, logs in and sends the first request, unless it is empty, within reply_timeout.
  boost::asio::awaitable<Opened> Open(Address address, Peer peer, Command first);

  [[nodiscard]] const Settings& settings() const { return settings_; }

 private:
  boost::asio::awaitable<Value> Begin(StreamPtr stream, Address address, Peer peer, Command first);
  std::unique_ptr<boost::asio::steady_timer> CloseLater(const StreamPtr& stream);

  boost::asio::io_context& io_;
  const Settings settings_;
  boost::asio::ssl::context tls_;
  Resolver resolver_;
};

}  // namespace fairlock::client
