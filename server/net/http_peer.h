// Somebody who is connected to the HTTP side.
#pragma once

namespace fairlock::net {

class HttpPeer {
 public:
  virtual ~HttpPeer() = default;
  // Idempotent.
  virtual void Close() = 0;
};

}  // namespace fairlock::net
