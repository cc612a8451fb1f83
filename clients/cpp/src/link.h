// The connection of a client: replies in the order of the requests, and messages of its channel.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "fairlock/client.h"
#include "resp.h"

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

  // Returns a reply that is not an error. Throws ConnectionFailed if the server was not reached, or
  // has not replied in time; the request may have been executed all the same.
  boost::asio::awaitable<Answer> Ask(Command command, Duration limit);

  // While someone listens, a silent server is asked for a sign of life.
  void SetListening(bool is_listening);

  [[nodiscard]] const std::string& channel() const { return channel_; }

 private:
  using Stream = boost::asio::ssl::stream<boost::asio::ip::tcp::socket>;
  struct Request;

  boost::asio::awaitable<void> Run();
  boost::asio::awaitable<void> AwaitDemand();
  boost::asio::awaitable<void> AwaitAttempt();
  boost::asio::awaitable<void> Connect(std::shared_ptr<Stream> stream);
  boost::asio::awaitable<void> LogIn(std::shared_ptr<Stream> stream);
  boost::asio::awaitable<void> Subscribe(std::shared_ptr<Stream> stream);
  boost::asio::awaitable<void> Receive(std::shared_ptr<Stream> stream);
  boost::asio::awaitable<void> Flush(std::shared_ptr<Stream> stream);
  boost::asio::awaitable<void> KeepAlive(std::shared_ptr<Stream> stream);
  boost::asio::awaitable<void> Write(std::shared_ptr<Stream> stream, std::string bytes);
  boost::asio::awaitable<Value> Read(std::shared_ptr<Stream> stream);

  void Take(Value value);
  void EndAttempt(std::exception_ptr error);
  void Drop(std::exception_ptr error);
  void Throw(const std::string& text);

  boost::asio::io_context& io_;
  const Settings settings_;
  const std::string channel_;
  const Listener listener_;
  boost::asio::ssl::context tls_{boost::asio::ssl::context::tls_client};
  std::shared_ptr<Stream> stream_;  // null while there is no connection
  std::size_t address_ = 0;
  std::string in_;
  std::string out_;
  bool is_writing_ = false;
  bool is_ready_ = false;
  bool is_listening_ = false;
  int asks_ = 0;  // that wait for a connection
  Time heard_at_{};
  std::exception_ptr failure_;  // of the last attempt to connect
  boost::asio::steady_timer demand_;
  boost::asio::steady_timer attempt_;
  std::deque<std::shared_ptr<Request>> requests_;
};

}  // namespace fairlock::client
