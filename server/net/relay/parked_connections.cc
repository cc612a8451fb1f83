#include "server/net/relay/parked_connections.h"

#include <utility>

namespace fairlock::net {

void ParkedConnections::Add(ParkedConnection connection) {
  AssertInLoop();
  const engine::TimeMs until = connection.until;
  connections_.emplace(until, std::move(connection));
}

ParkedConnection ParkedConnections::TakeFirst() {
  return std::move(connections_.extract(connections_.begin()).mapped());
}

std::vector<ParkedConnection> ParkedConnections::Take(
    std::size_t count_max, const std::function<bool(const ParkedConnection&)>& wants) {
  AssertInLoop();
  std::vector<ParkedConnection> taken;
  for (auto next = connections_.begin(); next != connections_.end() && taken.size() < count_max;) {
    const auto one = next++;
    if (wants(one->second)) taken.push_back(std::move(connections_.extract(one).mapped()));
  }
  return taken;
}

std::vector<ParkedConnection> ParkedConnections::TakeOverdue(engine::TimeMs now) {
  AssertInLoop();
  std::vector<ParkedConnection> taken;
  while (!connections_.empty() && connections_.begin()->first <= now) taken.push_back(TakeFirst());
  return taken;
}

}  // namespace fairlock::net
