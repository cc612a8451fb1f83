// The interface that receives the connections that an acceptor has accepted.
#pragma once

#include <cstddef>
#include <limits>

#include "server/command/client/client.h"

namespace fairlock::net {

// Loop-confined.
class ConnectionSink {
 public:
  // Takes ownership of the descriptor, which it may close at once.
  virtual void TakeConnection(int descriptor, command::ClientAddress address) = 0;
  virtual void LogAcceptFailed(int error) = 0;
  // The number of connections that it can take now. Further ones wait in the kernel's backlog.
  virtual std::size_t Capacity() const { return std::numeric_limits<std::size_t>::max(); }

 protected:
  ~ConnectionSink() = default;
};

}  // namespace fairlock::net
