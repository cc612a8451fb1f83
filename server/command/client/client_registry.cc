#include "server/command/client/client_registry.h"

namespace fairlock::command {

void ClientRegistry::Add(Client& client) {
  client.profile.id = next_id_++;
  ++counters_.connections_received;
  clients_.emplace(client.profile.id, &client);
  client.client = engine_.clients().Connect(client.profile.address.peer, client.profile.user);
}

void ClientRegistry::Remove(Client& client) {
  engine_.clients().Disconnect(client.client);
  client.client = engine::kUnknownClient;
  clients_.erase(client.profile.id);
}

void ClientRegistry::Rename(Client& client, std::string_view name) {
  client.profile.name = name;
  engine_.clients().Rename(client.client, name);
}

Client* ClientRegistry::Find(std::uint64_t id) const {
  const auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : found->second;
}

}  // namespace fairlock::command
