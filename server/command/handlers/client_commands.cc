// CLIENT: lists the connected clients, and closes connections.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/command/handlers/client_list.h"
#include "server/command/handlers/command_costs.h"
#include "server/command/handlers/command_families.h"
#include "server/command/handlers/shared_replies.h"
#include "server/command/server_parts.h"
#include "server/command/table/command_docs.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

void ClientId(Invocation& call) {
  call.reply.Integer(static_cast<std::int64_t>(call.client.profile.id));
}

void ClientInfo(Invocation& call) { call.reply.Verbatim("txt", DescribeClient(call.client, call)); }

void GetName(Invocation& call) {
  const std::string& name = call.client.profile.name;
  if (name.empty()) {
    call.reply.Null();
  } else {
    call.reply.Bulk(name);
  }
}

void SetName(Invocation& call) {
  if (const std::string_view wrong = WrongInClientName(call.arguments[2]); !wrong.empty()) {
    return call.reply.Error(ErrorCode::kErr, "Client names " + std::string(wrong));
  }
  call.server.clients.Rename(call.client, call.arguments[2]);
  call.reply.Ok();
}

void SetInfo(Invocation& call) {
  const std::string_view attribute = call.arguments[2];
  const std::string_view value = call.arguments[3];
  ClientProfile& profile = call.client.profile;
  std::string* target = nullptr;
  if (EqualsIgnoreCase(attribute, "LIB-NAME")) target = &profile.library_name;
  if (EqualsIgnoreCase(attribute, "LIB-VER")) target = &profile.library_version;
  if (target == nullptr) {
    call.reply.Error(ErrorCode::kErr, "Unrecognized option " + Quoted(attribute, 128));
  } else if (const std::string_view wrong = WrongInClientName(value); !wrong.empty()) {
    call.reply.Error(ErrorCode::kErr, std::string(attribute) + " " + std::string(wrong));
  } else {
    *target = value;
    call.reply.Ok();
  }
}

// Returns nullopt after sending an error.
std::optional<ClientType> ReadType(Invocation& call, std::string_view name) {
  const auto type = FindClientType(name);
  if (!type) call.reply.Error(ErrorCode::kErr, "Unknown client type " + Quoted(name, 128));
  return type;
}

void ListByNumber(Invocation& call) {
  if (RefusesCost(call)) return;
  std::string lines;
  for (std::size_t i = 3; i < call.arguments.size(); ++i) {
    const auto id = ParseInteger(call.arguments[i]);
    if (!id) return call.reply.Error(ErrorCode::kErr, "Invalid client ID");
    const Client* client = call.server.clients.Find(static_cast<std::uint64_t>(*id));
    if (client != nullptr) lines += DescribeClient(*client, call);
  }
  call.reply.Verbatim("txt", lines);
}

void ClientList(Invocation& call) {
  const protocol::Arguments& arguments = call.arguments;
  ClientFilter filter;
  if (arguments.size() == 4 && EqualsIgnoreCase(arguments[2], "TYPE")) {
    filter.type = ReadType(call, arguments[3]);
    if (!filter.type) return;
  } else if (arguments.size() > 3 && EqualsIgnoreCase(arguments[2], "ID")) {
    return ListByNumber(call);
  } else if (arguments.size() != 2) {
    return RefuseSyntax(call.reply);
  }
  if (RefusesCost(call)) return;
  std::string lines;
  for (const Client* client : FindClients(call.server.clients, filter, call.now)) {
    lines += DescribeClient(*client, call);
  }
  call.reply.Verbatim("txt", lines);
}

// Closes the connection: at once if it is another client's, after the reply if it is the client's
// own.
void Kill(Invocation& call, Client& victim) {
  victim.output.CloseAfter();
  if (&victim == &call.client) return;
  // Detaches the victim before the transport acts, so that it gets no lock and executes no command
  // in this turn.
  call.server.lifecycle.Detach(victim, call.now);
  victim.transport.CloseNow();
}

// Returns false after sending an error.
bool ReadNumberFilter(Invocation& call, std::string_view value, ClientFilter& filter) {
  const auto id = ParseInteger(value);
  if (!id || *id < 1) {
    call.reply.Error(ErrorCode::kErr, "client-id should be greater than 0");
    return false;
  }
  filter.id = static_cast<std::uint64_t>(*id);
  return true;
}

bool ReadAgeFilter(Invocation& call, std::string_view value, ClientFilter& filter) {
  const auto seconds = ParseInteger(value);
  if (!seconds || *seconds > engine::kForever / 1000) {
    call.reply.Error(ErrorCode::kErr, "maxage is not an integer or out of range");
    return false;
  }
  if (*seconds < 1) {
    call.reply.Error(ErrorCode::kErr, "maxage should be greater than 0");
    return false;
  }
  filter.age_min_ms = *seconds * 1000;
  return true;
}

bool ReadUserFilter(Invocation& call, std::string_view value, ClientFilter& filter) {
  if (call.server.access.users().Find(value) == nullptr) {
    call.reply.Error(ErrorCode::kErr, "No such user " + Quoted(value, 128));
    return false;
  }
  filter.user = value;
  return true;
}

bool ReadTypeFilter(Invocation& call, std::string_view value, ClientFilter& filter) {
  filter.type = ReadType(call, value);
  return filter.type.has_value();
}

bool ReadSkipMe(Invocation& call, std::string_view value, ClientFilter& filter) {
  if (EqualsIgnoreCase(value, "YES")) {
    filter.except = &call.client;
  } else if (EqualsIgnoreCase(value, "NO")) {
    filter.except = nullptr;
  } else {
    RefuseSyntax(call.reply);
    return false;
  }
  return true;
}

bool ReadAddressFilter(Invocation& /*call*/, std::string_view value, ClientFilter& filter) {
  filter.address = value;
  return true;
}

bool ReadLocalAddressFilter(Invocation& /*call*/, std::string_view value, ClientFilter& filter) {
  filter.local_address = value;
  return true;
}

struct KillOption {
  std::string_view name;
  bool (*read)(Invocation&, std::string_view, ClientFilter&);
};

constexpr auto kKillOptions = std::to_array<KillOption>({
    {"ID", ReadNumberFilter},
    {"ADDR", ReadAddressFilter},
    {"LADDR", ReadLocalAddressFilter},
    {"TYPE", ReadTypeFilter},
    {"USER", ReadUserFilter},
    {"SKIPME", ReadSkipMe},
    {"MAXAGE", ReadAgeFilter},
});

bool ReadKillOption(Invocation& call, std::string_view name, std::string_view value,
                    ClientFilter& filter) {
  for (const KillOption& option : kKillOptions) {
    if (EqualsIgnoreCase(option.name, name)) return option.read(call, value, filter);
  }
  RefuseSyntax(call.reply);
  return false;
}

// Handles CLIENT KILL address, which may end the caller's own connection.
void KillByAddress(Invocation& call) {
  const ClientFilter filter{.address = call.arguments[2]};
  const std::vector<Client*> victims = FindClients(call.server.clients, filter, call.now);
  if (victims.empty()) return call.reply.Error(ErrorCode::kErr, "No such client");
  for (Client* victim : victims) Kill(call, *victim);
  call.reply.Ok();
}

void KillByFilter(Invocation& call) {
  const protocol::Arguments& arguments = call.arguments;
  ClientFilter filter{.except = &call.client};
  for (std::size_t i = 2; i < arguments.size(); i += 2) {
    if (i + 1 == arguments.size()) return RefuseSyntax(call.reply);
    if (!ReadKillOption(call, arguments[i], arguments[i + 1], filter)) return;
  }
  const std::vector<Client*> victims = FindClients(call.server.clients, filter, call.now);
  for (Client* victim : victims) Kill(call, *victim);
  call.reply.Integer(static_cast<std::int64_t>(victims.size()));
}

void KillClients(Invocation& call) {
  if (call.arguments.size() == 3) {
    KillByAddress(call);
  } else {
    KillByFilter(call);
  }
}

// Ends another client's wait, either as if it had timed out or with an error.
void Unblock(Invocation& call) {
  const protocol::Arguments& arguments = call.arguments;
  bool fails = false;
  if (arguments.size() == 4) {
    fails = EqualsIgnoreCase(arguments[3], "ERROR");
    if (!fails && !EqualsIgnoreCase(arguments[3], "TIMEOUT")) {
      return call.reply.Error(ErrorCode::kErr, "CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
    }
  } else if (arguments.size() > 4) {
    return RefuseSyntax(call.reply);
  }
  const auto id = ParseInteger(arguments[2]);
  if (!id) return call.reply.Error(ErrorCode::kErr, "value is not an integer or out of range");
  Client* waiter = call.server.clients.Find(static_cast<std::uint64_t>(*id));
  const WaitKind kind = waiter == nullptr ? WaitKind::kNothing : waiter->wait.kind();
  const bool is_for_list = kind == WaitKind::kList;
  const bool is_waiting = kind == WaitKind::kLock || kind == WaitKind::kKeyFree || is_for_list;
  if (is_waiting && fails) waiter->wait.FailAtTimeOut();
  if (is_for_list) {
    call.server.lists.EndWait(*waiter);
  } else if (is_waiting) {
    call.server.locks.engine().sessions().EndWaits(*waiter, call.server.locks.StepAt(call.now));
  }
  call.reply.Integer(is_waiting ? 1 : 0);
}

// ON and OFF have no effect, because nothing is evicted and keys have no access times.
void AcceptOnOrOff(Invocation& call) {
  if (EqualsIgnoreCase(call.arguments[2], "ON") || EqualsIgnoreCase(call.arguments[2], "OFF")) {
    call.reply.Ok();
  } else {
    RefuseSyntax(call.reply);
  }
}

constexpr std::uint32_t kPlain = kConnection | kNoScript;
constexpr std::uint32_t kOverOthers = kPlain | kAdmin | kDangerous;
// These commands end other clients' SESSION holds and waits, so @connection alone does not permit
// them.
constexpr std::uint32_t kEndsOthers = kNoScript | kAdmin | kDangerous | kUnowned | kAudited;

constexpr auto kClientCommands = std::to_array<CommandSpec>({
    {"CLIENT",
     nullptr,
     -2,
     0,
     {},
     "connection",
     "",
     "Inspects and manages connections",
     "Depends on the subcommand"},
    {"CLIENT|ID",
     ClientId,
     2,
     kPlain,
     {},
     "connection",
     "",
     "The number of this connection",
     "O(1)"},
    {"CLIENT|INFO",
     ClientInfo,
     2,
     kPlain,
     {},
     "connection",
     "",
     "This connection's line in CLIENT LIST",
     "O(1)"},
    {"CLIENT|LIST",
     ClientList,
     -2,
     kOverOthers,
     {},
     "connection",
     "[TYPE NORMAL|MASTER|REPLICA|PUBSUB | ID client-id [client-id ...]]",
     "All connections, one line each",
     "O(connections)"},
    {"CLIENT|KILL",
     KillClients,
     -3,
     kEndsOthers,
     {},
     "connection",
     "address | ID client-id | ADDR address | LADDR address | TYPE NORMAL|MASTER|REPLICA|PUBSUB | "
     "USER name | SKIPME YES|NO | MAXAGE seconds",
     "Closes the connections that match all of the given filters",
     "O(connections)"},
    {"CLIENT|GETNAME",
     GetName,
     2,
     kPlain,
     {},
     "connection",
     "",
     "The name of this connection",
     "O(1)"},
    {"CLIENT|SETNAME",
     SetName,
     3,
     kPlain,
     {},
     "connection",
     "name",
     "Names this connection; the name is shown with holders and in client lists",
     "O(1)"},
    {"CLIENT|SETINFO",
     SetInfo,
     4,
     kPlain,
     {},
     "connection",
     "LIB-NAME name | LIB-VER version",
     "Tells the server which client library this is",
     "O(1)"},
    {"CLIENT|UNBLOCK",
     Unblock,
     -3,
     kEndsOthers,
     {},
     "connection",
     "client-id [TIMEOUT|ERROR]",
     "Ends the wait of another connection, as if it had timed out or with an error",
     "O(1)"},
    {"CLIENT|NO-EVICT",
     AcceptOnOrOff,
     3,
     kOverOthers,
     {},
     "connection",
     "ON|OFF",
     "Accepted for compatibility with Redis; no connection is ever evicted",
     "O(1)"},
    {"CLIENT|NO-TOUCH",
     AcceptOnOrOff,
     3,
     kPlain,
     {},
     "connection",
     "ON|OFF",
     "Accepted for compatibility with Redis; keys have no access time",
     "O(1)"},
    {"CLIENT|HELP", AnswerHelp, 2, kPlain, {}, "connection", "", "Lists the subcommands", "O(1)"},
});

}  // namespace

std::span<const CommandSpec> ClientCommands() { return kClientCommands; }

}  // namespace fairlock::command
