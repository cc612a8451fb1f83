// A client that is connected to the HTTP port.
#pragma once

#include <chrono>
#include <optional>

namespace fairlock::net {

class HttpPeer {
 public:
  virtual ~HttpPeer() = default;
  // Idempotent.
  virtual void Close() = 0;
  // The time since which it has been idle; none: it is in use.
  virtual std::optional<std::chrono::steady_clock::time_point> IdleSince() const = 0;
};

}  // namespace fairlock::net
