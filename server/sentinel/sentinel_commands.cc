#include "server/sentinel/sentinel_commands.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "protocol/request_writer.h"
#include "server/command/environment/environment.h"
#include "server/command/table/text.h"
#include "server/sentinel/instances.h"

namespace fairlock::sentinel {

namespace {

using command::EqualsIgnoreCase;
using command::Quoted;
using protocol::ErrorCode;

enum Flag : std::uint8_t {
  kBeforeLogIn = 1,    // allowed for a client that still has to log in
  kWhileConfined = 2,  // allowed for a subscriber in RESP2
  kNamesMaster = 4,    // its last argument is the name of the fleet
};

struct Command {
  std::string_view name;
  void (*handler)(Call&);
  int arity;  // as in CommandSpec
  std::uint8_t flags = 0;
};

bool FitsArity(const Command& command, std::size_t arguments) {
  const auto count = static_cast<int>(arguments);
  return command.arity >= 0 ? count == command.arity : count >= -command.arity;
}

const Command* Find(std::span<const Command> commands, std::string_view name) {
  const auto found = std::ranges::find_if(
      commands, [name](const Command& command) { return EqualsIgnoreCase(command.name, name); });
  return found == commands.end() ? nullptr : &*found;
}

std::string NamesOf(std::span<const Command> commands) {
  std::string names;
  for (const Command& command : commands) names.append(" ").append(command.name);
  return names;
}

// Lets the client's pipeline execute the request, as on a RESP port.
void Delegate(Call& call) {
  std::string request;
  protocol::AppendRequest(request, call.arguments);
  call.pipeline.Consume(request, 1, call.now);
}

void Ping(Call& call) {
  if (call.arguments.size() > 2) {
    return call.reply.Error(ErrorCode::kErr, "wrong number of arguments for 'ping' command");
  }
  const std::string_view text = call.arguments.size() == 2 ? call.arguments[1] : "";
  if (IsConfined(call)) {
    call.reply.ArrayHeader(2);
    call.reply.Bulk("pong");
    call.reply.Bulk(text);
  } else if (text.empty()) {
    call.reply.Simple("PONG");
  } else {
    call.reply.Bulk(text);
  }
}

constexpr std::array<std::string_view, 6> kClientCommands = {"SETNAME", "GETNAME", "SETINFO",
                                                             "ID",      "INFO",    "NO-EVICT"};

void AskAboutClient(Call& call) {
  const bool is_ours = std::ranges::any_of(kClientCommands, [&](std::string_view name) {
    return EqualsIgnoreCase(name, call.arguments[1]);
  });
  if (is_ours) return Delegate(call);
  call.reply.Error(ErrorCode::kErr,
                   "unknown subcommand " + Quoted(call.arguments[1], 128) +
                       "; this port supports CLIENT SETNAME, GETNAME, SETINFO, ID, "
                       "INFO and NO-EVICT");
}

void Role(Call& call) {
  call.reply.ArrayHeader(2);
  call.reply.Bulk("sentinel");
  call.reply.ArrayHeader(1);
  call.reply.Bulk(call.watch.View().fleet.fleet);
}

void Confirm(Call& call, std::string_view word, const std::string_view* name) {
  call.reply.PushHeader(3);
  call.reply.Bulk(word);
  if (name == nullptr) {
    call.reply.Null();
  } else {
    call.reply.Bulk(*name);
  }
  call.reply.Integer(static_cast<std::int64_t>(call.subscriptions.size()));
}

void SubscribeTo(Call& call, bool is_pattern) {
  for (const std::string_view name : call.arguments.subspan(1)) {
    if (!call.subscriptions.Add(name, is_pattern)) {
      return call.reply.Error(ErrorCode::kFull, "a connection to this port can have " +
                                                    std::to_string(Subscriptions::kNamesMax) +
                                                    " subscriptions with names of at most " +
                                                    std::to_string(engine::kGlobBytesMax) +
                                                    " bytes");
    }
    Confirm(call, is_pattern ? "psubscribe" : "subscribe", &name);
  }
}

void UnsubscribeFrom(Call& call, bool is_pattern) {
  const std::string_view word = is_pattern ? "punsubscribe" : "unsubscribe";
  for (const std::string_view name : call.arguments.subspan(1)) {
    call.subscriptions.Remove(name, is_pattern);
    Confirm(call, word, &name);
  }
  if (call.arguments.size() > 1) return;
  if (call.subscriptions.First(is_pattern) == nullptr) return Confirm(call, word, nullptr);
  while (const std::string* first = call.subscriptions.First(is_pattern)) {
    const std::string name = *first;
    const std::string_view shown = name;
    call.subscriptions.Remove(name, is_pattern);
    Confirm(call, word, &shown);
  }
}

std::string InfoServer(const Call& call) {
  const command::ServerFacts& facts = call.server.environment.facts;
  return "# Server\r\nredis_version:" + std::string(command::kRedisVersion) +
         "\r\nfairlock_version:" + facts.version +
         "\r\nredis_mode:sentinel\r\nos:" + facts.operating_system +
         "\r\nprocess_id:" + std::to_string(facts.process_id) + "\r\nrun_id:" + facts.run_id +
         "\r\nuptime_in_seconds:" + std::to_string((call.now - call.server.started_at) / 1000) +
         "\r\n";
}

std::string InfoSentinel(const Call& call) {
  const MasterView view = call.watch.View();
  return "# Sentinel\r\nsentinel_masters:1\r\nsentinel_tilt:0\r\nsentinel_running_scripts:0\r\n"
         "sentinel_scripts_queue_length:0\r\nmaster0:name=" +
         view.fleet.fleet + ",status=" + (view.is_down ? "odown" : "ok") + ",address=" + view.host +
         ":" + std::to_string(view.port) + ",slaves=" + std::to_string(CountStandbys(view.fleet)) +
         ",sentinels=" + std::to_string(CountOtherSentinels(view.fleet) + 1) + "\r\n";
}

void Info(Call& call) {
  const auto asked = call.arguments.subspan(1);
  const auto is_asked = [&](std::string_view section) {
    return asked.empty() || std::ranges::any_of(asked, [&](std::string_view name) {
             return EqualsIgnoreCase(name, section) || EqualsIgnoreCase(name, "all") ||
                    EqualsIgnoreCase(name, "default") || EqualsIgnoreCase(name, "everything");
           });
  };
  std::string report;
  if (is_asked("server")) report += InfoServer(call);
  if (is_asked("sentinel")) {
    if (!report.empty()) report += "\r\n";
    report += InfoSentinel(call);
  }
  call.reply.Verbatim("txt", report);
}

void MasterAddress(Call& call) {
  const MasterView view = call.watch.View();
  // After a null reply, clients ask again or ask the next Sentinel.
  if (view.is_down) return call.reply.NullArray();
  call.reply.ArrayHeader(2);
  call.reply.Bulk(view.host);
  call.reply.Bulk(std::to_string(view.port));
}

void Master(Call& call) {
  const std::int64_t unix_ms = call.server.environment.clock.UnixTimeUs() / 1000;
  WriteMaster(call.watch.View(), unix_ms, call.reply);
}

// A fleet of the dialect `cluster` has a leader for each partition, which Sentinel cannot describe.
bool HasOneLeader(const Call& call) {
  return call.watch.View().fleet.dialect != command::FleetDialect::kCluster;
}

void Masters(Call& call) {
  if (!HasOneLeader(call)) return call.reply.ArrayHeader(0);
  call.reply.ArrayHeader(1);
  Master(call);
}

void Replicas(Call& call) { WriteReplicas(call.watch.View(), call.reply); }
void Sentinels(Call& call) { WriteSentinels(call.watch.View(), call.reply); }

void MyId(Call& call) {
  const command::FleetReport fleet = call.watch.View().fleet;
  call.reply.Bulk(command::NodeId(fleet.fleet, fleet.node));
}

// The nodes hold no election among themselves. What matters is whether etcd has a quorum, which it
// shows by answering.
void CheckQuorum(Call& call) {
  const command::FleetReport fleet = call.watch.View().fleet;
  const std::string usable = std::to_string(CountOtherSentinels(fleet) + 1) + " usable Sentinels. ";
  if (fleet.age_ms < 0 || !fleet.error.empty() || fleet.is_unsure) {
    const std::string why = fleet.error.empty() ? "" : ": " + command::Escaped(fleet.error, 256);
    return call.reply.Error(ErrorCode::kNoQuorum, usable + "etcd does not answer" + why);
  }
  call.reply.Simple("OK " + usable + "Quorum and failover authorization can be reached");
}

constexpr auto kSentinelCommands = std::to_array<Command>({
    {"GET-MASTER-ADDR-BY-NAME", MasterAddress, 3, kNamesMaster},
    {"MASTER", Master, 3, kNamesMaster},
    {"MASTERS", Masters, 2},
    {"REPLICAS", Replicas, 3, kNamesMaster},
    {"SLAVES", Replicas, 3, kNamesMaster},
    {"SENTINELS", Sentinels, 3, kNamesMaster},
    {"MYID", MyId, 2},
    {"CKQUORUM", CheckQuorum, 3, kNamesMaster},
});

void RefuseCount(Call& call, std::string_view name) {
  call.reply.Error(ErrorCode::kErr,
                   "wrong number of arguments for '" + command::Lowered(name) + "' command");
}

// Returns false after replying. Like Redis Sentinel, replies with null, not with an error, if the
// address of an unknown master is requested.
bool IsOurMaster(Call& call, const Command& command) {
  if (HasOneLeader(call) && call.arguments.back() == call.watch.View().fleet.fleet) return true;
  if (command.handler == MasterAddress) {
    call.reply.NullArray();
  } else {
    call.reply.Error(ErrorCode::kErr, "No such master with that name");
  }
  return false;
}

void Sentinel(Call& call) {
  const Command* const command = Find(kSentinelCommands, call.arguments[1]);
  if (command == nullptr) {
    return call.reply.Error(ErrorCode::kErr, "unknown subcommand " +
                                                 Quoted(call.arguments[1], 128) +
                                                 "; this port supports SENTINEL with one of" +
                                                 NamesOf(kSentinelCommands));
  }
  if (!FitsArity(*command, call.arguments.size())) {
    return RefuseCount(call, "sentinel|" + std::string(command->name));
  }
  if ((command->flags & kNamesMaster) != 0 && !IsOurMaster(call, *command)) return;
  command->handler(call);
}

void DescribeCommands(Call& call);

constexpr auto kCommands = std::to_array<Command>({
    {"PING", Ping, -1, kWhileConfined},
    {"HELLO", Delegate, -1, kBeforeLogIn},
    {"AUTH", Delegate, -2, kBeforeLogIn},
    {"QUIT", Delegate, -1, kBeforeLogIn | kWhileConfined},
    {"CLIENT", AskAboutClient, -2},
    {"INFO", Info, -1},
    {"ROLE", Role, 1},
    {"COMMAND", DescribeCommands, -1},
    {"SUBSCRIBE", [](Call& call) { SubscribeTo(call, false); }, -2, kWhileConfined},
    {"PSUBSCRIBE", [](Call& call) { SubscribeTo(call, true); }, -2, kWhileConfined},
    {"UNSUBSCRIBE", [](Call& call) { UnsubscribeFrom(call, false); }, -1, kWhileConfined},
    {"PUNSUBSCRIBE", [](Call& call) { UnsubscribeFrom(call, true); }, -1, kWhileConfined},
    {"SENTINEL", Sentinel, -2},
});

// Writes the entry of COMMAND, with the ten fields that it has in Redis 7.
void DescribeCommand(const Command& command, protocol::ReplyWriter& reply) {
  reply.ArrayHeader(10);
  reply.Bulk(command::Lowered(command.name));
  reply.Integer(command.arity);
  reply.ArrayHeader(1);
  reply.Simple("sentinel");
  for (int i = 0; i < 3; ++i) reply.Integer(0);  // no keys
  for (int i = 0; i < 4; ++i) reply.ArrayHeader(0);
}

void DescribeCommands(Call& call) {
  const bool has_word = call.arguments.size() > 1;
  if (has_word && EqualsIgnoreCase(call.arguments[1], "COUNT")) {
    return call.reply.Integer(kCommands.size());
  }
  if (has_word && EqualsIgnoreCase(call.arguments[1], "DOCS")) return call.reply.MapHeader(0);
  if (has_word) {
    return call.reply.Error(ErrorCode::kErr, "unknown subcommand " +
                                                 Quoted(call.arguments[1], 128) +
                                                 "; this port supports COMMAND, COMMAND COUNT and "
                                                 "COMMAND DOCS");
  }
  call.reply.ArrayHeader(kCommands.size());
  for (const Command& command : kCommands) DescribeCommand(command, call.reply);
}

void RefuseUnknown(Call& call) {
  const MasterView view = call.watch.View();
  std::string text = "unknown command " + Quoted(call.arguments[0], 128) +
                     "; this is the Sentinel port of fleet " + Quoted(view.fleet.fleet) +
                     ", which takes" + NamesOf(kCommands);
  if (!view.host.empty()) {
    text += "; send lock requests to " + view.host + ":" + std::to_string(view.port);
  }
  call.reply.Error(ErrorCode::kErr, text);
}

}  // namespace

bool IsConfined(const Call& call) {
  return call.subscriptions.size() > 0 && call.reply.version() == protocol::RespVersion::kResp2;
}

void Execute(Call& call) {
  const Command* const command = Find(kCommands, call.arguments[0]);
  const bool has_logged_in = call.pipeline.client().rights.user() != nullptr;
  const std::uint8_t flags = command == nullptr ? 0 : command->flags;
  if (!has_logged_in && (flags & kBeforeLogIn) == 0) {
    return call.reply.Error(ErrorCode::kNoAuth, "Authentication required.");
  }
  if (command == nullptr) return RefuseUnknown(call);
  if (!FitsArity(*command, call.arguments.size())) return RefuseCount(call, command->name);
  if (IsConfined(call) && (flags & kWhileConfined) == 0) {
    return call.reply.Error(ErrorCode::kErr,
                            "Can't execute '" + command::Lowered(command->name) +
                                "': only (P)SUBSCRIBE / (P)UNSUBSCRIBE / PING / QUIT are allowed "
                                "in this context");
  }
  command->handler(call);
}

}  // namespace fairlock::sentinel
