#include "server/command/client/client_registry.h"

#include "server/command/client/client.h"
#include "server/command/environment/environment.h"
#include "server/command/table/text.h"

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

void UnitWarnings::Warn(const ClientProfile& client, std::string_view command,
                        const BareDuration& duration) {
  constexpr std::size_t kNameBytesMax = 64;
  const std::string library = client.library_name.substr(0, kNameBytesMax);
  if (warned_.size() >= kLibrariesMax || !warned_.insert(library).second) return;
  const std::string option(duration.option);
  const std::string number = std::to_string(duration.ms);
  log_.LogWarning(
      (library.empty() ? "an unknown client library" : "client library " + Quoted(library)) + " (" +
      Escaped(client.address.peer) + ") sent " + std::string(command) + " with EX and " + option +
      " " + number + ": without a unit that is " + number + " ms, probably a mistake; " + option +
      " " + number + "s is seconds, " + option + " " + number +
      "ms avoids this warning, which is logged once per library");
}

}  // namespace fairlock::command
