// One connection to the Sentinel port: moves bytes between its socket and its session.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "server/net/turn/turn.h"
#include "server/sentinel/session.h"

namespace fairlock::net {

class SentinelConnection;

// Owns the connections. Loop-confined.
class SentinelConnectionOwner {
 public:
  virtual void Remove(const SentinelConnection* connection) = 0;

 protected:
  ~SentinelConnectionOwner() = default;
};

// Reads only when everything that it has received is executed and its output is sent. Its owner and
// its pending operation keep it alive until it closes. Loop-confined.
class SentinelConnection final : public TurnTask,
                                 public std::enable_shared_from_this<SentinelConnection> {
 public:
  // The time allowed for the rest of a request that has begun, and for sending output.
  static constexpr std::chrono::seconds kTimeMax{15};
  // The time that the peer has to read the last output and to close.
  static constexpr std::chrono::seconds kLingerMax{2};

  SentinelConnection(Turn& turn, SentinelConnectionOwner& owner, const sentinel::LeaderWatch& watch,
                     boost::asio::ip::tcp::socket socket, command::ClientAddress address);
  ~SentinelConnection();

  void Start() { Read(); }
  void Publish(const sentinel::Message& message) { session_.Publish(message); }
  void Close();
  // Since when it has been doing nothing for its client: it has completed no request, is not logged
  // in, or awaits the rest of a request; none: it serves its client.
  std::optional<std::chrono::steady_clock::time_point> IncompleteSince() const;

  void TakeTurn(engine::TimeMs now) override;

 private:
  // The bytes that have arrived and are not executed yet.
  struct Input {
    std::string bytes = {};
    // The rest of its first request must have arrived by then.
    std::chrono::steady_clock::time_point deadline = {};
    std::chrono::steady_clock::time_point opened_at = std::chrono::steady_clock::now();
    bool has_been_executed = false;  // some of it
  };

  void EnterTurn();
  void Read();
  void Write();
  void Linger();

  Turn& turn_;
  SentinelConnectionOwner& owner_;
  boost::beast::tcp_stream stream_;
  sentinel::Session session_;
  std::array<char, 4096> received_;
  Input input_;
  std::string sending_;  // the output that is being written
  bool is_reading_ = false;
  bool is_in_turn_ = false;
  bool is_closed_ = false;
};

}  // namespace fairlock::net
