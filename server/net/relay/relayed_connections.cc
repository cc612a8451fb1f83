#include "server/net/relay/relayed_connections.h"

namespace fairlock::net {

void RelayedConnections::Add(std::string peer, OwnedDescriptor client, OwnedDescriptor leader) {
  const auto entry = connections_.insert(connections_.end(), {std::move(peer), nullptr});
  const auto connection = std::make_shared<RelayedConnection>(
      io_, std::move(client), std::move(leader), [this, entry] { OnEnd(entry); });
  entry->connection = connection;
  connection->Start();
}

void RelayedConnections::CloseAll() {
  while (!connections_.empty()) {
    connections_.front().connection->Close();
    OnEnd(connections_.begin());
  }
}

void RelayedConnections::OnEnd(std::list<Entry>::iterator entry) {
  const std::string peer = std::move(entry->peer);
  connections_.erase(entry);
  on_end_(peer);
}

}  // namespace fairlock::net
