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

#include "server/command/client/client.h"
#include "server/net/sockets/connection_sink.h"
#include "server/net/tls/tls_connection_sink.h"
#include "server/net/tls/tls_context.h"
#include "server/net/turn/turn.h"

namespace fairlock::net {

struct TlsHandshakeOptions {
  // Close connections that have not completed the TLS handshake within this time.
  std::chrono::milliseconds handshake_max{10'000};
  // Handshakes at the same time; further connections wait in the kernel's backlog.
  std::size_t handshakes_max = 1000;
  // At that limit, close connections that have sent nothing for this time.
  std::chrono::milliseconds silence_max{500};
  // The answer to a client that does not speak TLS.
  std::string_view plain_answer;
};

// A handshake costs as much as hundreds of requests. So it runs on a separate thread with a lower
// priority than the loop, and new connections do not delay established ones. A handler of the
// loop's io_context gets the outcome. At the limit, the connection that has been silent the longest
// is closed, so that silent connections do not keep out others.
//
// Loop-confined, and owns the thread.
class TlsHandshakes final : public ConnectionSink {
 public:
  // `io` is the loop's. `io`, `turn` and `sink` must outlive this.
  TlsHandshakes(boost::asio::io_context& io, Turn& turn, TlsConnectionSink& sink,
                const TlsHandshakeOptions& options);
  TlsHandshakes(const TlsHandshakes&) = delete;
  TlsHandshakes& operator=(const TlsHandshakes&) = delete;
  // Abandons the handshakes in progress.
  ~TlsHandshakes();

  // Applies to all later handshakes. REQUIRES: not null, and called before the first connection.
  void set_context(std::shared_ptr<const TlsContext> context) { context_ = std::move(context); }
  std::size_t handshakes() const { return handshakes_; }

  void TakeConnection(int descriptor, command::ClientAddress address) override;
  void LogAcceptFailed(int error) override { sink_.LogAcceptFailed(error); }
  std::size_t Capacity() const override { return options_.handshakes_max - handshakes_; }

 private:
  class Handshake;
  struct Outcome;

  void Refuse(int descriptor, const command::ClientAddress& address);
  void OnOutcome(Outcome outcome);
  // On the thread: at the limit, ends the oldest silent handshake, or sets a timer for that.
  void EndSilentAtLimit();

  boost::asio::io_context& loop_;
  Turn& turn_;
  TlsConnectionSink& sink_;
  const TlsHandshakeOptions options_;
  std::shared_ptr<const TlsContext> context_;
  std::size_t handshakes_ = 0;
  // Expires with this object, for handlers that run later.
  std::shared_ptr<TlsHandshakes*> self_;
  boost::asio::io_context io_;  // of the thread, which alone uses the next three
  std::size_t in_progress_ = 0;
  std::list<Handshake*> silent_;  // have received nothing yet; the oldest first
  boost::asio::steady_timer silence_timer_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace fairlock::net
