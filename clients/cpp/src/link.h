// A connection to one server: replies in the order of the requests, and messages of its channels.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "dialer.h"
#include "fairlock/client.h"
#include "finder.h"
#include "readiness.h"
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

// Growing pauses between attempts. Clients that lost one server do not return all at once.
class Pauses {
 public:
  Duration Next();

 private:
  Duration pause_{50};
};

// Receives messages.
using Listener = std::function<void(const Message&)>;

// Loop-confined. Connects when something is asked, and again as long as someone listens.
class Link {
 public:
  Link(boost::asio::io_context& io, Dialer& dialer, std::unique_ptr<Finder> finder,
       Listener listener);

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

  // Requests that are sent later find the connection subscribed.
  void Subscribe(const std::string& channel);
  void Unsubscribe(const std::string& channel);

  // While someone listens, a server that sends nothing is asked for a sign of life.
  void SetListening(bool is_listening);

 private:
  struct Request;
  using RequestPtr = std::shared_ptr<Request>;

  boost::asio::awaitable<void> Run();
  boost::asio::awaitable<void> AwaitDemand();
  boost::asio::awaitable<StreamPtr> Connect();
  boost::asio::awaitable<void> Receive(StreamPtr stream);
  boost::asio::awaitable<void> Flush(StreamPtr stream);
  boost::asio::awaitable<void> KeepAlive(StreamPtr stream);

  [[nodiscard]] Command FirstRequest() const;
  void Begin(const StreamPtr& stream, const Command& first);
  RequestPtr Send(const Command& command);
  void SendAboutChannel(const char* name, const std::string& channel);
  void Take(Value value);
  void Drop(std::exception_ptr error);
  void Throw(const std::string& text);

  boost::asio::io_context& io_;
  Dialer& dialer_;
  const std::unique_ptr<Finder> finder_;
  const Listener listener_;
  StreamPtr stream_;  // null while there is no connection
  Readiness connection_;
  std::set<std::string> channels_;
  std::string out_;
  bool is_writing_ = false;
  bool is_listening_ = false;
  Time heard_at_{};
  boost::asio::steady_timer demand_;
  std::deque<RequestPtr> requests_;
};

}  // namespace fairlock::client
