// A connection to one address: over TCP, with or without TLS, or over a Unix socket.
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl.hpp>
#include <memory>
#include <string>

#include "fairlock/client.h"
#include "resolver.h"
#include "resp.h"

namespace fairlock::client {

// HOST:PORT, or /PATH of a Unix socket, which is a port without a host.
struct Address {
  std::string host;
  std::string port;

  bool operator==(const Address&) const = default;
};
inline constexpr auto kPort = "3247";
Address ParseAddress(const std::string& text, const std::string& default_port);
std::string NameOf(const Address& address);

// The context for the settings. Throws Refused, with the name of a file that cannot be used.
boost::asio::ssl::context MakeTls(const Settings& settings);

// Loop-confined. Owned by shared pointers, because closing it ends what is running only later. Its
// functions throw boost::system::system_error, or Refused if TLS does not trust the server.
class Stream {
 public:
  // `tls` is null for a connection without TLS.
  Stream(boost::asio::io_context& io, boost::asio::ssl::context* tls);

  boost::asio::awaitable<void> Connect(Address address, Resolver& resolver, Duration limit);
  boost::asio::awaitable<void> Write(std::string bytes);
  boost::asio::awaitable<Value> Read();
  void Close();

 private:
  using Socket = boost::asio::generic::stream_protocol::socket;

  boost::asio::awaitable<void> ConnectToAny(Endpoints endpoints);
  boost::asio::awaitable<void> ShakeHands(std::string host);
  Socket& socket() { return tls_ ? tls_->next_layer() : plain_; }

  Socket plain_;
  std::unique_ptr<boost::asio::ssl::stream<Socket>> tls_;
  bool is_closed_ = false;
  std::string in_;                 // what has been received and not been read
  std::array<char, 16384> chunk_;  // a part of the input
};

}  // namespace fairlock::client
