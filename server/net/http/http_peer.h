// A client that is connected to the HTTP port.
#pragma once

#include <chrono>
#include <cstdint>

namespace fairlock::net {

class HttpPeer {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Doing : std::uint8_t {
    kIdle,       // no request has begun
    kReceiving,  // a request, or the handshake of a WebSocket, has begun and is not complete
    kAnswering,  // by the server; or a WebSocket is open
    kSending,    // the client has not yet read the whole answer
  };
  struct State {
    Doing doing = Doing::kIdle;
    Clock::time_point since = Clock::now();
  };

  virtual ~HttpPeer() = default;
  // Idempotent.
  virtual void Close() = 0;

  const State& state() const { return state_; }

 protected:
  void Begin(Doing doing) { state_ = {.doing = doing, .since = Clock::now()}; }

 private:
  State state_;
};

}  // namespace fairlock::net
