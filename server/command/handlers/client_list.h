// Clients as CLIENT LIST shows them and CLIENT KILL picks them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/command/client/client.h"
#include "server/command/client/client_registry.h"
#include "server/command/table/invocation.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

enum class ClientType : std::uint8_t { kNormal, kMaster, kReplica, kPubsub };

std::optional<ClientType> FindClientType(std::string_view name);
ClientType TypeOf(const Client& client);

// Returns the client's line in CLIENT LIST, including the line end.
std::string DescribeClient(const Client& client, const Invocation& call);

// A client matches if it matches every field that is set; without fields, every client matches.
struct ClientFilter {
  std::optional<std::uint64_t> id = {};
  std::optional<ClientType> type = {};
  std::optional<std::string_view> address = {};
  std::optional<std::string_view> local_address = {};
  std::optional<std::string_view> user = {};
  std::optional<engine::DurationMs> age_min_ms = {};
  const Client* except = nullptr;

  bool Accepts(const Client& client, engine::TimeMs now) const;
};

// Returns the clients in the order of their ids.
std::vector<Client*> FindClients(const ClientRegistry& clients, const ClientFilter& filter,
                                 engine::TimeMs now);

}  // namespace fairlock::command
