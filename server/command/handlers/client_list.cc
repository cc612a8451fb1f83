#include "server/command/handlers/client_list.h"

#include <algorithm>
#include <array>

#include "server/command/server_parts.h"
#include "server/command/table/text.h"
#include "server/command/transactions/transactions.h"
#include "text/hexadecimal.h"

namespace fairlock::command {

namespace {

struct TypeName {
  std::string_view name;
  ClientType type;
};

constexpr auto kTypeNames = std::to_array<TypeName>({
    {"normal", ClientType::kNormal},
    {"master", ClientType::kMaster},
    {"replica", ClientType::kReplica},
    {"slave", ClientType::kReplica},
    {"pubsub", ClientType::kPubsub},
});

std::string FlagsOf(const Client& client) {
  std::string flags;
  if (client.profile.is_monitor) flags += 'O';
  if (client.subscriptions != nullptr) flags += 'P';
  if (Transactions::IsCollecting(client)) flags += 'x';
  if (client.wait.is_waiting()) flags += 'b';
  if (client.output.is_closing()) flags += 'c';
  if (client.profile.address.peer.starts_with('/')) flags += 'U';
  return flags.empty() ? "N" : flags;
}

// Writes fields of the form "name=value", separated by spaces.
class FieldLine {
 public:
  void Add(std::string_view name, std::string_view value) {
    if (!line_.empty()) line_ += ' ';
    line_.append(name).append("=").append(value);
  }
  void Add(std::string_view name, std::int64_t value) { Add(name, std::to_string(value)); }
  void Add(std::string_view name, std::uint64_t value) { Add(name, std::to_string(value)); }

  std::string Finish() && { return std::move(line_.append("\n")); }

 private:
  std::string line_;
};

}  // namespace

std::optional<ClientType> FindClientType(std::string_view name) {
  for (const TypeName& row : kTypeNames) {
    if (EqualsIgnoreCase(row.name, name)) return row.type;
  }
  return std::nullopt;
}

ClientType TypeOf(const Client& client) {
  return client.subscriptions != nullptr ? ClientType::kPubsub : ClientType::kNormal;
}

namespace {

// Makes sure that a line can be split at its spaces.
std::string WithoutBlanks(std::string_view bytes) { return text::Escaped(bytes, " \\"); }

void AddWait(FieldLine& line, const Client& client, const Invocation& call) {
  const engine::TimeMs now = call.now;
  if (const values::ListWait* wait = call.server.values.waiters().Find(client)) {
    line.Add("wait-key", WithoutBlanks(wait->keys.front()));
    return line.Add("waited-ms", now - client.profile.active_at);
  }
  const auto awaited = engine::Inspections::AwaitedBy(client);
  line.Add("wait-key", awaited ? WithoutBlanks(awaited->key.bytes) : "");
  const engine::TimeMs since = awaited ? awaited->since.value_or(client.profile.active_at) : now;
  line.Add("waited-ms", now - since);
}

std::uint64_t CountSubscriptions(const Client& client, ChannelKind kind) {
  return client.subscriptions == nullptr ? 0 : client.subscriptions->of(kind).size();
}

}  // namespace

namespace {

// Returns the size of the arguments of the request that is being executed; 0 for all other clients.
std::uint64_t ArgumentBytes(const Client& client, const Invocation& call) {
  if (&client != &call.client) return 0;
  std::uint64_t bytes = 0;
  for (const std::string_view argument : call.arguments) bytes += argument.size();
  return bytes;
}

}  // namespace

std::string DescribeClient(const Client& client, const Invocation& call) {
  const engine::TimeMs now = call.now;
  const ClientProfile& profile = client.profile;
  const std::string& output = client.output.bytes();
  constexpr std::uint64_t kNone = 0;
  FieldLine line;
  line.Add("id", profile.id);
  line.Add("addr", profile.address.peer);
  line.Add("laddr", profile.address.local);
  line.Add("fd", std::int64_t{profile.address.descriptor});
  line.Add("name", profile.name);
  line.Add("age", (now - profile.connected_at) / 1000);
  line.Add("idle", (now - profile.active_at) / 1000);
  line.Add("flags", FlagsOf(client));
  line.Add("db", std::uint64_t{client.profile.database});
  line.Add("sub", CountSubscriptions(client, ChannelKind::kExact));
  line.Add("psub", CountSubscriptions(client, ChannelKind::kPattern));
  line.Add("ssub", CountSubscriptions(client, ChannelKind::kShard));
  const Transaction* transaction =
      Transactions::IsCollecting(client) ? client.transaction.get() : nullptr;
  line.Add("multi", transaction == nullptr ? -1 : static_cast<std::int64_t>(transaction->size()));
  const InputUse input = client.transport.UnexecutedInput();
  const std::uint64_t transaction_bytes = transaction == nullptr ? kNone : transaction->bytes();
  line.Add("qbuf", std::uint64_t{input.bytes});
  // Input that arrived in this turn is in memory that all connections share, so `bytes` may exceed
  // the connection's own memory.
  line.Add("qbuf-free", input.memory_bytes - std::min(input.bytes, input.memory_bytes));
  line.Add("argv-mem", ArgumentBytes(client, call));
  line.Add("multi-mem", transaction_bytes);
  line.Add("rbs", std::uint64_t{output.capacity()});
  line.Add("rbp", std::uint64_t{output.capacity()});
  line.Add("obl", std::uint64_t{output.size()});
  line.Add("oll", kNone);
  line.Add("omem", kNone);
  line.Add("tot-mem", std::uint64_t{sizeof(Client) + output.capacity() + input.memory_bytes} +
                          transaction_bytes);
  line.Add("events", output.empty() ? "r" : "rw");
  const CommandSpec* const command = profile.last_command;
  line.Add("cmd", command == nullptr ? "NULL" : Lowered(command->name));
  line.Add("user", profile.user);
  line.Add("redir", std::int64_t{-1});
  line.Add("resp", static_cast<std::uint64_t>(client.profile.version));
  line.Add("lib-name", profile.library_name);
  line.Add("lib-ver", profile.library_version);
  AddWait(line, client, call);
  return std::move(line).Finish();
}

bool ClientFilter::Accepts(const Client& client, engine::TimeMs now) const {
  const ClientProfile& profile = client.profile;
  return &client != except && (!id || *id == profile.id) && (!type || *type == TypeOf(client)) &&
         (!address || *address == profile.address.peer) &&
         (!local_address || *local_address == profile.address.local) &&
         (!user || *user == profile.user) &&
         (!age_min_ms || now - profile.connected_at >= *age_min_ms);
}

std::vector<Client*> FindClients(const ClientRegistry& clients, const ClientFilter& filter,
                                 engine::TimeMs now) {
  std::vector<Client*> found;
  for (const auto& [id, client] : clients.all()) {
    if (filter.Accepts(*client, now)) found.push_back(client);
  }
  return found;
}

}  // namespace fairlock::command
