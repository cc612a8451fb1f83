// Looks up the addresses of a host, within a given time.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fairlock::client {

// For operations whose error codes are not exceptions.
inline constexpr auto kQuietly = boost::asio::as_tuple(boost::asio::use_awaitable);

using Endpoints = std::vector<boost::asio::generic::stream_protocol::endpoint>;

// getaddrinfo takes as long as the name servers do, and cannot be interrupted. So each lookup has a
// thread of its own, which is left alone when the time is over: the resolver of Asio would make
// every lookup after it, and the destructor of the io_context, wait for it.
//
// Loop-confined. One lookup for each host and port at a time.
class Resolver {
 public:
  explicit Resolver(boost::asio::io_context& io);
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;
  ~Resolver();

  // Throws ConnectionFailed if the host is not known, or if the time is over. Without a host, the
  // port is the path of a Unix socket.
  boost::asio::awaitable<Endpoints> Resolve(std::string host, std::string port,
                                            boost::asio::steady_timer::duration limit);

 private:
  struct Lookup;
  using LookupPtr = std::shared_ptr<Lookup>;

  static bool IsOver(const LookupPtr& lookup);
  LookupPtr Start(const std::string& host, const std::string& port);

  boost::asio::io_context& io_;
  boost::asio::steady_timer news_;  // cancelled when a lookup ends
  std::map<std::pair<std::string, std::string>, LookupPtr> lookups_;
};

}  // namespace fairlock::client
