// Performs the TLS handshakes of new connections on a thread of its own.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "contracts/loop_confined.h"
#include "server/command/client/client.h"
#include "server/net/sockets/connection_sink.h"
#include "server/net/tls/tls_connection_sink.h"
#include "server/net/tls/tls_context.h"
#include "server/net/turn/turn.h"

namespace fairlock::net {

struct TlsHandshakeOptions {
  // Connections that have not completed the TLS handshake within this time are closed.
  std::chrono::milliseconds handshake_max{10'000};
  // The number of simultaneous handshakes; further connections wait in the kernel's backlog.
  std::size_t handshakes_max = 1000;
  // At that limit, connections that have sent nothing for this time are closed.
  std::chrono::milliseconds silence_max{500};
  // At that limit, connections whose handshake has begun this long ago, and that send nothing now,
  // are closed.
  std::chrono::milliseconds begun_max{1000};
  // The answer to a client that does not speak TLS.
  std::string_view plain_answer;
};

// A handshake costs as much as hundreds of requests. It therefore runs on a separate thread with a
// lower priority than the loop, so that new connections do not delay established ones. A handler
// of the loop's io_context gets the outcome. At the limit, the connection that has been silent the
// longest is closed, or the one whose handshake has been incomplete the longest, so that they do
// not keep out others.
//
// Loop-confined, and owns the thread.
class TlsHandshakes final : public ConnectionSink, private contracts::LoopConfined {
 public:
  // `io` is the loop's. `io`, `turn` and `sink` must outlive this.
  TlsHandshakes(boost::asio::io_context& io, Turn& turn, TlsConnectionSink& sink,
                const TlsHandshakeOptions& options);
  TlsHandshakes(const TlsHandshakes&) = delete;
  TlsHandshakes& operator=(const TlsHandshakes&) = delete;
  // Abandons the handshakes in progress.
  ~TlsHandshakes();

  // Applies to all later handshakes. REQUIRES: `context` is not null. Must be called before the
  // first connection.
  void set_context(std::shared_ptr<const TlsContext> context) { context_ = std::move(context); }
  std::size_t handshakes() const { return handshakes_; }

  void TakeConnection(int descriptor, command::ClientAddress address) override;
  void LogAcceptFailed(int error) override { sink_.LogAcceptFailed(error); }
  std::size_t Capacity() const override { return options_.handshakes_max - handshakes_; }

 private:
  class Handshake;
  struct Outcome;
  using List = std::list<Handshake*>;
  struct Lists {
    List silent;  // handshakes that have received nothing yet, the oldest first
    List begun;   // all others, in the order in which they began
  };

  void Refuse(int descriptor, const command::ClientAddress& address);
  void OnOutcome(Outcome outcome);
  // Runs on the thread. At the limit, ends the oldest silent handshake or the oldest incomplete
  // one, or sets a timer for that.
  void EndOneAtLimit();
  // Ends the first that has been in the list for that long. Returns false if it must wait, until
  // `until`.
  bool EndFirst(List& handshakes, std::chrono::milliseconds time_max,
                std::chrono::steady_clock::time_point& until);

  boost::asio::io_context& loop_;
  Turn& turn_;
  TlsConnectionSink& sink_;
  const TlsHandshakeOptions options_;
  std::shared_ptr<const TlsContext> context_;
  std::size_t handshakes_ = 0;
  // Handlers have a weak pointer to this, so that one that runs after this object is gone does
  // nothing.
  std::shared_ptr<TlsHandshakes*> self_;
  boost::asio::io_context io_;  // only the thread uses this and the next two members
  std::size_t in_progress_ = 0;
  Lists lists_;
  boost::asio::steady_timer limit_timer_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace fairlock::net
