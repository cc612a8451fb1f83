// Connections that wait for a leader. Nothing is read from them meanwhile.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "contracts/loop_confined.h"
#include "server/command/client/client.h"
#include "server/net/sockets/descriptor.h"

namespace fairlock::net {

struct ParkedConnection {
  OwnedDescriptor socket;
  command::ClientAddress address;
  bool is_tls = false;
  engine::TimeMs until = 0;
};

// Ordered by the time at which their wait ends.
class ParkedConnections : contracts::LoopConfined {
 public:
  bool empty() const { return connections_.empty(); }
  std::size_t count() const { return connections_.size(); }

  // A connection that was taken may be added again, and then has its old position in the order.
  void Add(ParkedConnection connection);
  // Takes the connection whose wait ends first. REQUIRES: not empty.
  ParkedConnection TakeFirst();
  // Takes at most `count_max` connections, in order, namely those for which `wants` returns true.
  std::vector<ParkedConnection> Take(std::size_t count_max,
                                     const std::function<bool(const ParkedConnection&)>& wants);
  // Takes the connections whose wait is over.
  std::vector<ParkedConnection> TakeOverdue(engine::TimeMs now);
  void CloseAll() { connections_.clear(); }

 private:
  std::multimap<engine::TimeMs, ParkedConnection> connections_;  // by the end of their wait
};

}  // namespace fairlock::net
