// Makes TLS connections out of new TCP connections.
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
#include "server/net/sockets/acceptor.h"
#include "server/net/tls/tls_context.h"
#include "server/net/tls/tls_socket.h"
#include "server/net/turn/turn.h"

namespace fairlock::net {

// The owner of the connections whose handshake is done. Loop-confined.
class TlsConnectionSink {
 public:
  // Whether handshakes count in Turn::addresses, as the connections do that come of them.
  virtual bool CountsByAddress() const { return false; }
  // Owns the socket from now on.
  virtual void TakeTlsConnection(std::unique_ptr<TlsSocket> tls,
                                 command::ClientAddress address) = 0;
  virtual void LogAcceptFailed(int error) = 0;

 protected:
  ~TlsConnectionSink() = default;
};

struct TlsHandshakeOptions {
  std::chrono::milliseconds handshake_max{10'000};  // from the connection's beginning
  std::size_t handshakes_max = 1000;                // at the same time; more wait in the kernel
  std::chrono::milliseconds silence_max{500};       // without a byte, while there is no room
  // The answer to a client that does not speak TLS.
  std::string_view plain_answer;
};

// A handshake costs as much as hundreds of requests, so it is made on a thread of its own, at a
// lower priority than the loop; whoever is connected notices nothing of those who come. How a
// handshake ended is told to the loop by a handler of its io_context. So that those who connect and
// say nothing keep nobody out, the one that has been silent for longest ends when there is no room.
//
// Loop-confined, with the thread inside.
class TlsHandshakes final : public ConnectionSink {
 public:
  // `io` is the loop's; it, `turn` and `keeper` must outlive this.
  TlsHandshakes(boost::asio::io_context& io, Turn& turn, TlsConnectionSink& keeper,
              const TlsHandshakeOptions& options);
  TlsHandshakes(const TlsHandshakes&) = delete;
  TlsHandshakes& operator=(const TlsHandshakes&) = delete;
  // Handshakes that are under way are given up.
  ~TlsHandshakes();

  // For handshakes from now on. REQUIRES: not null, and called before the first connection.
  void set_context(std::shared_ptr<const TlsContext> context) { context_ = std::move(context); }
  std::size_t handshakes() const { return handshakes_; }

  void TakeConnection(int descriptor, command::ClientAddress address) override;
  void LogAcceptFailed(int error) override { keeper_.LogAcceptFailed(error); }
  std::size_t Room() const override { return options_.handshakes_max - handshakes_; }

 private:
  class Handshake;
  struct Outcome;

  void Refuse(int descriptor, const command::ClientAddress& address);
  void OnOutcome(Outcome outcome);
  // On the thread: ends a silent one if there is no room, as soon as it has been silent for long.
  void MakeRoom();

  boost::asio::io_context& loop_;
  Turn& turn_;
  TlsConnectionSink& keeper_;
  const TlsHandshakeOptions options_;
  std::shared_ptr<const TlsContext> context_;
  std::size_t handshakes_ = 0;
  // A handler that runs too late finds it empty.
  std::shared_ptr<TlsHandshakes*> self_;
  boost::asio::io_context io_;  // of the thread, which alone uses the next three
  std::size_t under_way_ = 0;
  std::list<Handshake*> silent_;  // of whom nothing has come yet, from the oldest on
  boost::asio::steady_timer silence_timer_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace fairlock::net
