// Connections that wait for a leader, and are not read.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "server/command/client/client.h"
#include "server/net/sockets/owned_descriptor.h"

namespace fairlock::net {

struct ParkedConnection {
  OwnedDescriptor socket;
  command::ClientAddress address;
  bool is_tls = false;
  engine::TimeMs until = 0;
};

// In the order of their ends. Loop-confined.
class ParkedConnections {
 public:
  bool empty() const { return connections_.empty(); }
  std::size_t count() const { return connections_.size(); }

  // A connection that was taken may be added again: it returns to its place.
  void Add(ParkedConnection connection);
  // The one that ends first. REQUIRES: not empty.
  ParkedConnection TakeFirst();
  // Takes those that `wants` accepts, in order and at most `count_max`.
  std::vector<ParkedConnection> Take(std::size_t count_max,
                                     const std::function<bool(const ParkedConnection&)>& wants);
  // Takes those whose time is over.
  std::vector<ParkedConnection> TakeOverdue(engine::TimeMs now);
  void CloseAll() { connections_.clear(); }

 private:
  std::multimap<engine::TimeMs, ParkedConnection> connections_;  // by the end
};

}  // namespace fairlock::net
