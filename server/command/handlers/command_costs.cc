#include "server/command/handlers/command_costs.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "server/command/pubsub/channels.h"
#include "server/command/server_parts.h"

namespace fairlock::command {

using protocol::ErrorCode;

namespace {

// Each message is written to the output of each subscriber.
Cost Message(const CostQuestion& asked) {
  const Channels& channels = asked.server.channels;
  const std::string_view name = asked.arguments[1];
  const std::uint64_t receivers =
      channels.CountSubscribers(name) + channels.CountSubscribers(name, ChannelKind::kShard);
  return Plus(asked, {receivers * BytesFrom(asked, 1), receivers * 2 * kWriteWork});
}

Cost OwnSubscriptions(const CostQuestion& asked) {
  constexpr std::uint64_t kConfirmationBytes = 48;
  Cost cost = Echo(asked);
  cost.reply_bytes += kConfirmationBytes * asked.arguments.size();
  cost.work += 10 * kWriteWork * asked.arguments.size();
  if (asked.arguments.size() > 1 || asked.client.subscriptions == nullptr) return cost;
  for (const auto& channels : asked.client.subscriptions->by_kind) {
    for (const Channel* channel : channels) {
      cost += {channel->name.size() + kConfirmationBytes, 10 * kWriteWork};
    }
  }
  return cost;
}

template <ChannelKind kind>
Cost AllChannels(const CostQuestion& asked) {
  Cost cost = Small(asked);
  asked.server.channels.VisitNames(kind, [&](std::string_view name) {
    cost += {name.size() + kFrame, engine::MatchBudget::kLookCost + kWriteWork};
    return cost.work <= kStepWorkMax;
  });
  return cost;
}

constexpr std::uint64_t kClientWork = 1500;

Cost LineOf(const Client& client) {
  constexpr std::uint64_t kClientBytes = 600;
  const ClientProfile& profile = client.profile;
  return {kClientBytes + profile.name.size() + profile.library_name.size() +
              profile.library_version.size() + profile.user.size(),
          kClientWork};
}

Cost AllClients(const CostQuestion& asked) {
  Cost cost = Plus(asked, {0, 3 * kClientWork});
  for (const auto& [id, client] : asked.server.clients.all()) cost += LineOf(*client);
  return cost;
}

// CLIENT LIST; after ID, each number names one client, and the same one may be named several times.
Cost ListedClients(const CostQuestion& asked) {
  if (asked.arguments.size() < 4 || !EqualsIgnoreCase(asked.arguments[2], "ID")) {
    return AllClients(asked);
  }
  Cost cost = Plus(asked, {0, 3 * kClientWork});
  for (std::size_t i = 3; i < asked.arguments.size(); ++i) {
    const auto id = ParseInteger(asked.arguments[i]);
    const Client* client =
        id ? asked.server.clients.Find(static_cast<std::uint64_t>(*id)) : nullptr;
    if (client != nullptr) cost += LineOf(*client);
  }
  return cost;
}

Cost OneClient(const CostQuestion& asked) {
  const ClientProfile& profile = asked.client.profile;
  return Plus(asked, {600 + profile.name.size() + profile.library_name.size() +
                          profile.library_version.size(),
                      3000});
}

Cost DescribedCommands(const CostQuestion& asked) {
  constexpr std::uint64_t kCommandBytes = 1500;
  constexpr std::uint64_t kCommandWork = 3000;
  const CommandTable& table = asked.server.table;
  std::uint64_t rows = asked.arguments.size() <= 2 ? table.rows().size() : 0;
  for (const std::string_view name : asked.arguments.views().subspan(1)) {
    const CommandSpec* spec = table.Find(name);
    if (spec != nullptr) rows += 1 + table.SubcommandsOf(*spec).size();
  }
  return Plus(asked, {rows * kCommandBytes, rows * kCommandWork});
}

Cost KeysOfRequest(const CostQuestion& asked) {
  constexpr std::uint64_t kFlagsBytes = 64;
  return Plus(asked, {BytesFrom(asked, 2) + kFlagsBytes * asked.arguments.size(),
                      5 * kWriteWork * asked.arguments.size()});
}

constexpr std::uint64_t kKb = 1024;

constexpr auto kOtherCosts = std::to_array<CostRow>({
    {"LIMIT|LIST", Fixed<200 * kKb, 100'000>},
    {"LIMIT|HELP", Fixed<4 * kKb, 20'000>},
    {"EVAL", Fixed<4 * kKb, 100'000>},
    {"EVALSHA", Fixed<4 * kKb, 100'000>},
    {"EVAL_RO", Fixed<4 * kKb, 100'000>},
    {"EVALSHA_RO", Fixed<4 * kKb, 100'000>},
    {"SCRIPT|LOAD", Fixed<0, 200'000>},
    {"SCRIPT|FLUSH", Fixed<0, 1'000'000>},
    {"SCRIPT|EXISTS", Echo},
    {"SCRIPT|HELP", Fixed<4 * kKb, 20'000>},
    {"SUBSCRIBE", OwnSubscriptions},
    {"SSUBSCRIBE", OwnSubscriptions},
    {"PSUBSCRIBE", OwnSubscriptions},
    {"UNSUBSCRIBE", OwnSubscriptions},
    {"SUNSUBSCRIBE", OwnSubscriptions},
    {"PUNSUBSCRIBE", OwnSubscriptions},
    {"PUBLISH", Message},
    {"SPUBLISH", Message},
    {"PUBSUB|CHANNELS", AllChannels<ChannelKind::kExact>},
    {"PUBSUB|SHARDCHANNELS", AllChannels<ChannelKind::kShard>},
    {"PUBSUB|NUMSUB", Echo},
    {"PUBSUB|SHARDNUMSUB", Echo},
    {"PUBSUB|HELP", Fixed<4 * kKb, 20'000>},
    {"PING", Echo},
    {"ECHO", Echo},
    {"HELLO", Fixed<kKb, 2'000>},
    {"AUTH", Fixed<0, 100'000>},
    {"ACL|CAT", Fixed<16 * kKb, 100'000>},
    {"ACL|LIST", Fixed<64 * kKb, 500'000>},
    {"ACL|USERS", Fixed<64 * kKb, 500'000>},
    {"ACL|GETUSER", Fixed<64 * kKb, 500'000>},
    {"ACL|DRYRUN", Fixed<kKb, 20'000>},
    {"ACL|LOAD", Fixed<0, 10'000'000>},
    {"ACL|HELP", Fixed<4 * kKb, 20'000>},
    {"CLIENT|INFO", OneClient},
    {"CLIENT|GETNAME", OneClient},
    {"CLIENT|LIST", ListedClients},
    {"CLIENT|KILL", AllClients},
    {"CLIENT|HELP", Fixed<4 * kKb, 20'000>},
    {"INFO", Fixed<32 * kKb, 200'000>},
    {"CONFIG|GET", Fixed<16 * kKb, 100'000>},
    {"CONFIG|SET", Fixed<0, 1'000'000>},
    {"CONFIG|HELP", Fixed<4 * kKb, 20'000>},
    {"CLUSTER|STATUS", Fixed<16 * kKb, 100'000>},
    {"CLUSTER|SLOTS", Fixed<64 * kKb, 200'000>},
    {"CLUSTER|SHARDS", Fixed<64 * kKb, 200'000>},
    {"CLUSTER|NODES", Fixed<64 * kKb, 200'000>},
    {"CLUSTER|REPLICAS", Fixed<16 * kKb, 100'000>},
    {"CLUSTER|SLAVES", Fixed<16 * kKb, 100'000>},
    {"CLUSTER|INFO", Fixed<2 * kKb, 20'000>},
    {"CLUSTER|HELP", Fixed<4 * kKb, 20'000>},
    {"COMMAND", DescribedCommands},
    {"COMMAND|INFO", DescribedCommands},
    {"COMMAND|DOCS", DescribedCommands},
    {"COMMAND|LIST", Fixed<8 * kKb, 200'000>},
    {"COMMAND|COUNT", Fixed<0, 10'000>},
    {"COMMAND|GETKEYS", KeysOfRequest},
    {"COMMAND|GETKEYSANDFLAGS", KeysOfRequest},
    {"COMMAND|HELP", Fixed<4 * kKb, 20'000>},
});

using Estimate = Cost (*)(const CostQuestion&);

Estimate EstimateOf(const CommandSpec& spec) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, Estimate> rows;
    for (const CostRow& row : CostRows()) rows.emplace(row.command, row.estimate);
    return rows;
  }();
  const auto found = by_name.find(spec.name);
  return found == by_name.end() ? Small : found->second;
}

}  // namespace

std::vector<CostRow> CostRows() {
  std::vector<CostRow> rows(kOtherCosts.begin(), kOtherCosts.end());
  for (const auto family : {LockCosts(), ValueCosts()}) {
    rows.insert(rows.end(), family.begin(), family.end());
  }
  return rows;
}

void Earlier::Add(const protocol::Arguments& request) {
  ++requests;
  arguments += request.size();
  for (const std::string_view argument : request) {
    bytes += argument.size();
    longest = std::max<std::uint64_t>(longest, argument.size());
  }
}

bool IsSmall(const CommandSpec& spec) { return EstimateOf(spec) == Small; }

Cost CostOf(const CommandSpec& spec, const CostQuestion& question) {
  return EstimateOf(spec)(question);
}

Cost CostOf(const CommandTable& table, const CostQuestion& question, const Transaction& queued) {
  CostQuestion each = question;
  Cost cost;
  queued.Visit([&](std::size_t row, const protocol::Arguments& arguments) {
    const CommandSpec& spec = *table.rows()[row];
    cost +=
        EstimateOf(spec)({each.server, each.client, arguments, each.db, each.now, each.earlier});
    const auto db = spec.name == "SELECT" ? ParseInteger(arguments[1]) : std::nullopt;
    if (db && *db >= 0 && *db < engine::kDatabases) each.db = static_cast<std::uint8_t>(*db);
    if ((spec.flags & kReadOnly) == 0) each.earlier.Add(arguments);
    // What is over a bound is refused anyway.
    return cost.work <= kStepWorkMax &&
           cost.reply_bytes <= question.server.transactions.LimitsNow().reply_bytes_max;
  });
  return cost;
}

bool RefusesCost(ServerParts& server, const Cost& cost, protocol::ReplyWriter& reply) {
  const std::uint64_t bytes_max = server.transactions.LimitsNow().reply_bytes_max;
  const MemoryBound& memory = server.availability.memory();
  if (cost.reply_bytes > bytes_max) {
    reply.Error(ErrorCode::kFull, "the reply would have more than " + std::to_string(bytes_max) +
                                      " bytes (output_limit); ask for less at once");
  } else if (cost.work > kStepWorkMax) {
    reply.Error(ErrorCode::kFull,
                "this would take longer than other clients may be kept waiting; ask for less at "
                "once");
  } else if (memory.is_on() && !server.availability.are_bounds_lifted() &&
             cost.reply_bytes > kReplyBytesWhenShort &&
             memory.used_bytes() + cost.reply_bytes > memory.bytes_max()) {
    server.availability.RefuseForMemory(reply);
  } else {
    return false;
  }
  return true;
}

bool RefusesCost(Invocation& call) {
  const Cost cost =
      CostOf(*call.client.profile.last_command,
             {call.server, call.client, call.arguments, call.client.profile.database, call.now});
  if (RefusesCost(call.server, cost, call.reply)) return true;
  call.server.work.Charge(cost.work);
  return false;
}

}  // namespace fairlock::command
