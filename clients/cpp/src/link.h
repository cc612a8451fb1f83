// The connection of a client: replies in the order of the requests, and messages of its channel.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fairlock/client.h"
#include "resolver.h"
#include "resp.h"
#include "stream.h"

namespace fairlock::client {

// Monotonic. Unlike CLOCK_MONOTONIC, it also runs while the machine sleeps, as the server's clock
// does.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
  static time_point now();
};
using Time = BootClock::time_point;

struct Answer {
  Value reply;
  Time sent_at;  // just before the request was sent
};

// Whether the same request may succeed later: the server is restarting, or fails over.
class Temporary : public ConnectionFailed {
  using ConnectionFailed::ConnectionFailed;
};

// Growing pauses between attempts. Clients that lost one server do not return all at once.
class Pauses {
 public:
  Duration Next();

 private:
  Duration pause_{50};
};

// Loop-confined. Connects when something is asked, and again as long as someone listens.
class Link {
 public:
  using Listener = std::function<void(const Message&)>;

  Link(boost::asio::io_context& io, Settings settings, std::string channel, Listener listener);

  // Waits for a connection. Throws the failure of the attempt to connect, or ConnectionFailed if it
  // takes longer than the limit.
  boost::asio::awaitable<void> AwaitConnection(Duration limit);

  // Returns a reply that is not an error. Throws ConnectionFailed if the server was not reached, or
  // has not replied in time; the request may have been executed all the same. The limit holds for
  // the connection, and again for the reply.
  //
  // Throws asio::error::operation_aborted if the caller is cancelled, which has no effect on the
  // request: requests that are sent later follow it.
  boost::asio::awaitable<Answer> Ask(Command command, Duration limit);

  // While someone listens, a silent server is asked for a sign of life.
  void SetListening(bool is_listening);

  [[nodiscard]] const std::string& channel() const { return channel_; }

 private:
  using StreamPtr = std::shared_ptr<Stream>;
  struct Request;

  boost::asio::awaitable<void> Run();
  boost::asio::awaitable<void> AwaitDemand();
  boost::asio::awaitable<StreamPtr> Connect();
  boost::asio::awaitable<void> ConnectTo(StreamPtr stream, std::string place);
  boost::asio::awaitable<Address> AskSentinel(std::string place);
  boost::asio::awaitable<void> LogIn(StreamPtr stream, std::string user, std::string password);
  boost::asio::awaitable<Value> Exchange(StreamPtr stream, Command command);
  boost::asio::awaitable<void> Receive(StreamPtr stream);
  boost::asio::awaitable<void> Flush(StreamPtr stream);
  boost::asio::awaitable<void> KeepAlive(StreamPtr stream);

  [[nodiscard]] const std::vector<std::string>& Places() const;
  std::unique_ptr<boost::asio::steady_timer> CloseLater(const StreamPtr& stream);
  void Begin(const StreamPtr& stream);
  void Take(Value value);
  void EndAttempt(std::exception_ptr error);
  void Drop(std::exception_ptr error);
  void Throw(const std::string& text);

  boost::asio::io_context& io_;
  const Settings settings_;
  const std::string channel_;
  const Listener listener_;
  boost::asio::ssl::context tls_;
  Resolver resolver_;
  StreamPtr stream_;       // null while there is no connection
  std::size_t place_ = 0;  // of the address, or the Sentinel, that is tried next
  std::string out_;
  bool is_writing_ = false;
  bool is_ready_ = false;
  bool is_listening_ = false;
  std::vector<std::shared_ptr<boost::asio::steady_timer>> arrivals_;  // wait for a connection
  Time heard_at_{};
  std::exception_ptr failure_;  // of the last attempt to connect
  boost::asio::steady_timer demand_;
  std::deque<std::shared_ptr<Request>> requests_;
};

}  // namespace fairlock::client
