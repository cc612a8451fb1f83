// The commands of Redis Cluster, which its clients use to find the node that serves a key. They
// describe a fleet of the dialect `cluster`; everywhere else they are refused as by a Redis that is
// not a cluster.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/command/cluster/slots.h"
#include "server/command/handlers/command_families.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/shared_replies.h"
#include "server/command/server_parts.h"
#include "server/command/table/glob_walk.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;
using protocol::ReplyWriter;

// The maximum number of locks that one request examines. It is limited because no other client is
// served meanwhile.
constexpr std::size_t kLocksWalkedMax = 100'000;

// Returns false after sending an error if this server is not a node of such a fleet.
bool IsOn(Invocation& call) {
  if (call.server.routing.is_on()) return true;
  if (call.server.environment.IsCluster()) {
    call.reply.Error(ErrorCode::kClusterDown,
                     "this node has not read yet which partition it serves; try again in a moment");
  } else {
    RefuseOfClusters(call.reply);
  }
  return false;
}

// The port for clients that connect as this one does.
std::uint16_t PortFor(const Invocation& call, const FleetNode& node) {
  const bool by_tls = node.tls_port != 0 && (call.client.profile.address.is_tls || node.port == 0);
  return by_tls ? node.tls_port : node.port;
}

// The nodes of one partition.
struct Shard {
  SlotRange slots;
  const FleetNode* leader = nullptr;  // null: none is known
  std::vector<const FleetNode*> standbys;
};

std::vector<Shard> ShardsOf(const FleetReport& report) {
  std::vector<Shard> shards(report.partitions);
  for (std::uint32_t partition = 0; partition < report.partitions; ++partition) {
    shards[partition].slots = SlotsOf(partition, report.partitions);
  }
  for (const FleetNode& node : report.nodes) {
    if (node.partition >= shards.size()) continue;
    Shard& shard = shards[node.partition];
    if (node.role == FleetRole::kLeader) {
      shard.leader = &node;
    } else {
      shard.standbys.push_back(&node);
    }
  }
  return shards;
}

void WriteSlotNode(Invocation& call, const FleetReport& report, const FleetNode& node) {
  call.reply.ArrayHeader(4);
  call.reply.Bulk(node.host);
  call.reply.Integer(PortFor(call, node));
  call.reply.Bulk(NodeId(report.fleet, node.name));
  call.reply.MapHeader(0);  // other host names and addresses: none
}

void Slots(Invocation& call) {
  if (!IsOn(call)) return;
  const FleetReport report = call.server.environment.fleet->Report();
  std::vector<Shard> shards = ShardsOf(report);
  std::erase_if(shards, [](const Shard& shard) { return shard.leader == nullptr; });
  call.reply.ArrayHeader(shards.size());
  for (const Shard& shard : shards) {
    call.reply.ArrayHeader(3 + shard.standbys.size());
    call.reply.Integer(shard.slots.first);
    call.reply.Integer(shard.slots.last);
    WriteSlotNode(call, report, *shard.leader);
    for (const FleetNode* standby : shard.standbys) WriteSlotNode(call, report, *standby);
  }
}

void WriteShardNode(Invocation& call, const FleetReport& report, const FleetNode& node) {
  ReplyWriter& reply = call.reply;
  const auto text = [&](std::string_view name, std::string_view value) {
    reply.Bulk(name);
    reply.Bulk(value);
  };
  const auto number = [&](std::string_view name, std::uint64_t value) {
    reply.Bulk(name);
    reply.Integer(static_cast<std::int64_t>(value));
  };
  const bool has_tls = node.tls_port != 0;
  const bool has_plain = node.port != 0;
  reply.MapHeader(6U + (has_plain ? 1U : 0U) + (has_tls ? 1U : 0U));
  text("id", NodeId(report.fleet, node.name));
  if (has_plain) number("port", node.port);
  if (has_tls) number("tls-port", node.tls_port);
  text("ip", node.host);
  text("endpoint", node.host);
  text("role", node.role == FleetRole::kLeader ? "master" : "replica");
  number("replication-offset", IsPeer(report, node) ? OffsetOf(report, node) : 0);
  const bool is_current = node.role == FleetRole::kLeader || node.is_in_sync;
  text("health", is_current ? "online" : "loading");
}

void Shards(Invocation& call) {
  if (!IsOn(call)) return;
  const FleetReport report = call.server.environment.fleet->Report();
  const std::vector<Shard> shards = ShardsOf(report);
  call.reply.ArrayHeader(shards.size());
  for (const Shard& shard : shards) {
    call.reply.MapHeader(2);
    call.reply.Bulk("slots");
    call.reply.ArrayHeader(2);
    call.reply.Integer(shard.slots.first);
    call.reply.Integer(shard.slots.last);
    call.reply.Bulk("nodes");
    call.reply.ArrayHeader((shard.leader != nullptr ? 1 : 0) + shard.standbys.size());
    if (shard.leader != nullptr) WriteShardNode(call, report, *shard.leader);
    for (const FleetNode* standby : shard.standbys) WriteShardNode(call, report, *standby);
  }
}

// Returns the line of CLUSTER NODES for the node, without its end.
std::string LineOf(const Invocation& call, const FleetReport& report, const Shard& shard,
                   const FleetNode& node) {
  const std::string port = std::to_string(PortFor(call, node));
  const bool leads = &node == shard.leader;
  std::string line = NodeId(report.fleet, node.name) + " " + node.host + ":" + port + "@" + port;
  line += node.name == report.node ? " myself," : " ";
  line += leads ? "master" : "slave";
  const bool follows = !leads && shard.leader != nullptr;
  line += " " + (follows ? NodeId(report.fleet, shard.leader->name) : "-");
  // There are no pings between nodes; the last one counts as answered.
  line += " 0 0 " + std::to_string(shard.leader == nullptr ? 0 : shard.leader->epoch);
  line += " connected";
  if (leads) {
    line += " " + std::to_string(shard.slots.first) + "-" + std::to_string(shard.slots.last);
  }
  return line;
}

void Nodes(Invocation& call) {
  if (!IsOn(call)) return;
  const FleetReport report = call.server.environment.fleet->Report();
  std::string lines;
  for (const Shard& shard : ShardsOf(report)) {
    if (shard.leader != nullptr) lines += LineOf(call, report, shard, *shard.leader) + "\n";
    for (const FleetNode* node : shard.standbys) lines += LineOf(call, report, shard, *node) + "\n";
  }
  call.reply.Verbatim("txt", lines);
}

// Returns the node whose id the request names; null after sending an error if there is none.
const FleetNode* NodeOf(Invocation& call, const FleetReport& report) {
  const std::string_view id = call.arguments[2];
  const auto node = std::ranges::find_if(
      report.nodes, [&](const FleetNode& one) { return NodeId(report.fleet, one.name) == id; });
  if (node != report.nodes.end()) return &*node;
  call.reply.Error(ErrorCode::kErr, "Unknown node " + std::string(id.substr(0, 128)));
  return nullptr;
}

// CLUSTER REPLICAS, and its old name CLUSTER SLAVES.
void Replicas(Invocation& call) {
  if (!IsOn(call)) return;
  const FleetReport report = call.server.environment.fleet->Report();
  const FleetNode* const node = NodeOf(call, report);
  if (node == nullptr) return;
  if (node->role != FleetRole::kLeader) {
    return call.reply.Error(ErrorCode::kErr, "The specified node is not a master");
  }
  const Shard shard = ShardsOf(report)[node->partition];
  call.reply.ArrayHeader(shard.standbys.size());
  for (const FleetNode* standby : shard.standbys) {
    call.reply.Bulk(LineOf(call, report, shard, *standby));
  }
}

void ClusterInfo(Invocation& call) {
  if (!IsOn(call)) return;
  const FleetReport report = call.server.environment.fleet->Report();
  std::uint32_t led = 0;
  std::uint32_t led_slots = 0;
  std::uint64_t epoch_max = report.epoch;
  for (const Shard& shard : ShardsOf(report)) {
    if (shard.leader == nullptr) continue;
    ++led;
    led_slots += shard.slots.last - shard.slots.first + 1;
    epoch_max = std::max(epoch_max, shard.leader->epoch);
  }
  const std::string ok = std::to_string(led_slots);
  const std::string fail = std::to_string(kHashSlots - led_slots);
  std::string lines;
  const auto line = [&](std::string_view name, const std::string& value) {
    lines.append(name).append(":").append(value).append("\r\n");
  };
  line("cluster_state", led == report.partitions ? "ok" : "fail");
  line("cluster_slots_assigned", std::to_string(kHashSlots));
  line("cluster_slots_ok", ok);
  line("cluster_slots_pfail", "0");
  line("cluster_slots_fail", fail);
  line("cluster_known_nodes", std::to_string(report.nodes.size()));
  line("cluster_size", std::to_string(report.partitions));
  line("cluster_current_epoch", std::to_string(epoch_max));
  line("cluster_my_epoch", std::to_string(report.epoch));
  line("cluster_stats_messages_sent", "0");
  line("cluster_stats_messages_received", "0");
  line("total_cluster_links_buffer_limit_exceeded", "0");
  call.reply.Verbatim("txt", lines);
}

void MyId(Invocation& call) {
  if (!IsOn(call)) return;
  const FleetReport report = call.server.environment.fleet->Report();
  call.reply.Bulk(NodeId(report.fleet, report.node));
}

void KeySlot(Invocation& call) {
  if (IsOn(call)) call.reply.Integer(SlotOf(call.arguments[2]));
}

bool IsSlot(std::int64_t number) { return number >= 0 && number < kHashSlots; }

// Returns the keys of this node's database that have the slot; nullopt after sending an error.
std::optional<std::vector<std::string_view>> KeysInSlot(Invocation& call, std::int64_t slot) {
  std::vector<std::string_view> keys;
  GlobWalk walk(call.server.work, GlobWalk::kWholeWorkMax);
  const std::uint64_t cursor = LocksOf(call).Scan(
      0, kLocksWalkedMax, call.client.profile.database, walk,
      [&](const engine::KeyName& key, bool) {
        walk.Charge(key.bytes.size());
        if (SlotOf(key.bytes) == slot && call.client.rights.MayRead(key.bytes, walk.compared())) {
          keys.push_back(key.bytes);
        }
      });
  if (cursor == 0) return keys;
  call.reply.Error(ErrorCode::kErr, "there are more than " + std::to_string(kLocksWalkedMax) +
                                        " locks to examine; use SCAN");
  return std::nullopt;
}

void CountKeysInSlot(Invocation& call) {
  if (!IsOn(call)) return;
  const auto slot = ReadRedisInteger(call, call.arguments[2]);
  if (!slot) return;
  if (!IsSlot(*slot)) return call.reply.Error(ErrorCode::kErr, "Invalid slot");
  const auto keys = KeysInSlot(call, *slot);
  if (keys) call.reply.Integer(static_cast<std::int64_t>(keys->size()));
}

void GetKeysInSlot(Invocation& call) {
  if (!IsOn(call)) return;
  const auto slot = ReadRedisInteger(call, call.arguments[2]);
  if (!slot) return;
  const auto count = ReadRedisInteger(call, call.arguments[3]);
  if (!count) return;
  if (!IsSlot(*slot) || *count < 0) {
    return call.reply.Error(ErrorCode::kErr, "Invalid slot or number of keys");
  }
  auto keys = KeysInSlot(call, *slot);
  if (!keys) return;
  keys->resize(std::min(keys->size(), static_cast<std::size_t>(*count)));
  call.reply.ArrayHeader(keys->size());
  for (const std::string_view key : *keys) call.reply.Bulk(key);
}

void Links(Invocation& call) {
  if (IsOn(call)) call.reply.ArrayHeader(0);
}

void CountFailureReports(Invocation& call) {
  if (!IsOn(call)) return;
  if (NodeOf(call, call.server.environment.fleet->Report()) != nullptr) call.reply.Integer(0);
}

void RefuseToReshape(Invocation& call) {
  if (!IsOn(call)) return;
  call.reply.Error(ErrorCode::kErr,
                   "a fleet assigns nodes and slots by itself; its number of partitions is chosen "
                   "when it is created, see `fairlockctl help cluster create`");
}

// A standby serves no requests for keys, so its clients need no permission to read from it, and no
// slot ever moves.
void Accept(Invocation& call) {
  if (IsOn(call)) call.reply.Ok();
}

constexpr std::uint32_t kReshaping = kAdmin | kDangerous | kNoScript;

constexpr CommandSpec Reshaping(std::string_view name, int arity, std::string_view syntax) {
  return {name,  RefuseToReshape, arity,  kReshaping,
          {},    "server",        syntax, "Refused: a fleet assigns nodes and slots by itself",
          "O(1)"};
}

constexpr auto kRedisClusterCommands = std::to_array<CommandSpec>({
    {"CLUSTER|SLOTS",
     Slots,
     2,
     0,
     {},
     "server",
     "",
     "The ranges of hash slots, each with the nodes of its partition, the leader first",
     "O(nodes)"},
    {"CLUSTER|SHARDS",
     Shards,
     2,
     0,
     {},
     "server",
     "",
     "The partitions with their hash slots and nodes",
     "O(nodes)"},
    {"CLUSTER|NODES",
     Nodes,
     2,
     0,
     {},
     "server",
     "",
     "The nodes of all partitions, one per line, in the format of Redis Cluster",
     "O(nodes)"},
    {"CLUSTER|REPLICAS",
     Replicas,
     3,
     kAdmin | kDangerous,
     {},
     "server",
     "node-id",
     "The standbys of the partition that this node leads",
     "O(nodes)"},
    {"CLUSTER|SLAVES",
     Replicas,
     3,
     kAdmin | kDangerous,
     {},
     "server",
     "node-id",
     "The old name of CLUSTER REPLICAS",
     "O(nodes)"},
    {"CLUSTER|INFO",
     ClusterInfo,
     2,
     0,
     {},
     "server",
     "",
     "Whether every partition has a leader, and the number of nodes and partitions",
     "O(nodes)"},
    {"CLUSTER|MYID", MyId, 2, 0, {}, "server", "", "The id of this node", "O(1)"},
    {"CLUSTER|KEYSLOT",
     KeySlot,
     3,
     0,
     {},
     "server",
     "name",
     "The hash slot of a key; of {...} in a key only what is between the braces counts",
     "O(1)"},
    {"CLUSTER|COUNTKEYSINSLOT",
     CountKeysInSlot,
     3,
     kReadOnly,
     {},
     "server",
     "slot",
     "How many locks of this node have that hash slot",
     "O(locks)"},
    {"CLUSTER|GETKEYSINSLOT",
     GetKeysInSlot,
     4,
     kReadOnly,
     {},
     "server",
     "slot count",
     "Keys of locks of this node that have that hash slot",
     "O(locks)"},
    {"CLUSTER|LINKS",
     Links,
     2,
     0,
     {},
     "server",
     "",
     "An empty list: the nodes of a fleet have no connections to each other",
     "O(1)"},
    {"CLUSTER|COUNT-FAILURE-REPORTS",
     CountFailureReports,
     3,
     kAdmin | kDangerous,
     {},
     "server",
     "node-id",
     "Always 0: the nodes of a fleet do not vote about each other",
     "O(1)"},
    Reshaping("CLUSTER|ADDSLOTS", -3, "slot [slot ...]"),
    Reshaping("CLUSTER|ADDSLOTSRANGE", -4, "start end [start end ...]"),
    Reshaping("CLUSTER|BUMPEPOCH", 2, ""),
    Reshaping("CLUSTER|DELSLOTS", -3, "slot [slot ...]"),
    Reshaping("CLUSTER|DELSLOTSRANGE", -4, "start end [start end ...]"),
    Reshaping("CLUSTER|FLUSHSLOTS", 2, ""),
    Reshaping("CLUSTER|FORGET", 3, "node-id"),
    Reshaping("CLUSTER|MEET", -4, "host port [port]"),
    Reshaping("CLUSTER|REPLICATE", 3, "node-id"),
    Reshaping("CLUSTER|RESET", -2, "[HARD|SOFT]"),
    Reshaping("CLUSTER|SAVECONFIG", 2, ""),
    Reshaping("CLUSTER|SET-CONFIG-EPOCH", 3, "epoch"),
    Reshaping("CLUSTER|SETSLOT", -4, "slot subcommand [node-id]"),
    {"READONLY",
     Accept,
     1,
     kFast | kConnection,
     {},
     "connection",
     "",
     "Accepted for clients of Redis Cluster; a standby serves no requests for keys",
     "O(1)"},
    {"READWRITE",
     Accept,
     1,
     kFast | kConnection,
     {},
     "connection",
     "",
     "Accepted for clients of Redis Cluster; ends READONLY",
     "O(1)"},
    {"ASKING",
     Accept,
     1,
     kFast | kConnection,
     {},
     "connection",
     "",
     "Accepted for clients of Redis Cluster; no slot of a fleet ever moves",
     "O(1)"},
});

}  // namespace

std::span<const CommandSpec> RedisClusterCommands() { return kRedisClusterCommands; }

}  // namespace fairlock::command
