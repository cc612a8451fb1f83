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
  // Since when it asks for nothing; none: a request of it is under way, or it is in use otherwise.
  virtual std::optional<std::chrono::steady_clock::time_point> IdleSince() const = 0;
};

}  // namespace fairlock::net
