// A client that is connected to the HTTP port, and the owner of all of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "server/http/exchange.h"

namespace fairlock::net {

class HttpForward;

class HttpPeer {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Doing : std::uint8_t {
    kIdle,       // no request has begun
    kReceiving,  // a request, or the handshake of a WebSocket, has begun and is not complete
    kAnswering,  // the server is answering, or a WebSocket is open
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

// Owns the connections. Loop-confined.
class HttpConnectionOwner {
 public:
  // Passes the request on to another node. Returns null, without a call of `done`, if too many
  // requests are being passed on.
  virtual std::shared_ptr<HttpForward> Forward(const http::Elsewhere& to,
                                               const http::Request& request,
                                               std::function<void(http::Answer)> done) = 0;
  // Whether a request other than a probe may be answered on a connection made for probes.
  virtual bool HasRoomForAll() const = 0;
  // Whether one more request may wait for a lock. Then NoteWaiting(1) follows, and NoteWaiting(-1)
  // when it waits no longer.
  virtual bool HasRoomToWait() const = 0;
  virtual void NoteWaiting(int change) = 0;
  virtual void Remove(const HttpPeer* peer) = 0;
  virtual void Add(std::shared_ptr<HttpPeer> peer) = 0;

 protected:
  ~HttpConnectionOwner() = default;
};

}  // namespace fairlock::net
