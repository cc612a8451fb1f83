// CLUSTER: the state of the fleet that this node belongs to, and what an operator does to it.

#include <array>
#include <string>
#include <string_view>

#include "server/command/handlers/command_families.h"
#include "server/command/handlers/shared_replies.h"
#include "server/command/locks/lock_replies.h"
#include "server/command/server_parts.h"
#include "server/command/table/argument_reader.h"
#include "text/address.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;
using protocol::ReplyWriter;

constexpr std::string_view kNoFleet =
    "this server is not a node of a fleet; the option cluster_etcd makes it one";

std::string_view RoleName(FleetRole role) {
  switch (role) {
    case FleetRole::kLeader:
      return "leader";
    case FleetRole::kStandby:
      return "standby";
    case FleetRole::kLost:
      return "lost";
    case FleetRole::kUnsure:
      return "unsure";
  }
  return "";
}

void TextField(ReplyWriter& reply, std::string_view name, std::string_view text) {
  reply.Bulk(name);
  reply.Bulk(text);
}

void TextOrNullField(ReplyWriter& reply, std::string_view name, std::string_view text) {
  reply.Bulk(name);
  if (text.empty()) return reply.Null();
  reply.Bulk(text);
}

void NumberField(ReplyWriter& reply, std::string_view name, std::uint64_t number) {
  IntegerField(reply, name, static_cast<std::int64_t>(number));
}

void FlagField(ReplyWriter& reply, std::string_view name, bool is_set) {
  IntegerField(reply, name, is_set ? 1 : 0);
}

void IntegerOrNullField(ReplyWriter& reply, std::string_view name, std::int64_t number,
                        bool is_known) {
  reply.Bulk(name);
  if (!is_known) return reply.Null();
  reply.Integer(number);
}

void WriteNode(ReplyWriter& reply, const FleetNode& node) {
  reply.MapHeader(13);
  TextField(reply, "name", node.name);
  TextField(reply, "address", text::JoinAddress(node.host, node.port));
  NumberField(reply, "tls_port", node.tls_port);
  NumberField(reply, "sentinel_port", node.sentinel_port);
  TextField(reply, "version", node.version);
  NumberField(reply, "partition", node.partition);
  TextField(reply, "role", RoleName(node.role));
  FlagField(reply, "in_sync", node.is_in_sync);
  NumberField(reply, "frames_behind", node.frames_behind);
  IntegerField(reply, "started_at", node.started_unix_ms);
  TextField(reply, "options", node.options);
  FlagField(reply, "unreachable", node.is_unreached);
  TextField(reply, "refused_etcd", node.refused_etcd);
}

void WriteEtcdMember(ReplyWriter& reply, const EtcdMember& member) {
  reply.MapHeader(6);
  TextField(reply, "endpoint", member.endpoint);
  TextOrNullField(reply, "error", member.error);
  TextOrNullField(reply, "version", member.version);
  FlagField(reply, "leader", member.is_leader);
  NumberField(reply, "size_bytes", member.size_bytes);
  NumberField(reply, "size_in_use_bytes", member.size_in_use_bytes);
}

void WriteLeader(ReplyWriter& reply, const FleetReport& report) {
  const bool is_led = !report.leader.empty();
  TextOrNullField(reply, "leader", report.leader);
  TextOrNullField(reply, "leader_address",
                  is_led ? text::JoinAddress(report.leader_host, report.leader_port) : "");
  const bool is_since_known = is_led && report.leads_since_unix_ms != 0;
  IntegerOrNullField(reply, "leader_since", report.leads_since_unix_ms, is_since_known);
}

void WriteLists(ReplyWriter& reply, const FleetReport& report) {
  reply.Bulk("nodes");
  reply.ArrayHeader(report.nodes.size());
  for (const FleetNode& node : report.nodes) WriteNode(reply, node);
  reply.Bulk("etcd");
  reply.ArrayHeader(report.etcd.size());
  for (const EtcdMember& member : report.etcd) WriteEtcdMember(reply, member);
}

void WriteReport(ReplyWriter& reply, const FleetReport& report) {
  reply.MapHeader(24);
  TextField(reply, "fleet", report.fleet);
  TextField(reply, "node", report.node);
  TextField(reply, "dialect", report.dialect == FleetDialect::kCluster ? "cluster" : "plain");
  IntegerOrNullField(reply, "partition", report.partition, report.partitions != 0);
  NumberField(reply, "partitions", report.partitions);
  TextField(reply, "role", RoleName(report.role));
  NumberField(reply, "epoch", report.epoch);
  WriteLeader(reply, report);
  FlagField(reply, "awaits_acceptance", report.awaits_acceptance);
  FlagField(reply, "unsure", report.is_unsure);
  IntegerOrNullField(reply, "age_ms", report.age_ms, report.age_ms >= 0);
  TextOrNullField(reply, "error", report.error);
  NumberField(reply, "commits", report.commits);
  NumberField(reply, "commits_us", report.commits_us);
  NumberField(reply, "committed_bytes", report.committed_bytes);
  NumberField(reply, "quota_bytes", report.quota_bytes);
  FlagField(reply, "short_of_quota", report.is_short_of_quota);
  FlagField(reply, "no_space", report.has_no_space);
  WriteLists(reply, report);
  TextOrNullField(reply, "last_leader", report.last_leader);
  IntegerOrNullField(reply, "leader_heard_ms", report.leader_heard_ms, report.leader_heard_ms >= 0);
}

// Returns the fleet; null after sending an error if this server is not a node of a fleet.
Fleet* FleetOf(Invocation& call) {
  Fleet* const fleet = call.server.environment.fleet;
  if (fleet == nullptr) call.reply.Error(ErrorCode::kErr, kNoFleet);
  return fleet;
}

void ClusterStatus(Invocation& call) {
  const Fleet* const fleet = FleetOf(call);
  if (fleet != nullptr) WriteReport(call.reply, fleet->Report());
}

// Sends the error for a request that only the leader can execute. It names the leader, so that the
// operator can ask that node.
void RefuseAsStandby(ReplyWriter& reply, const FleetReport& report) {
  const std::string leader = report.leader.empty()
                                 ? "no node leads at the moment"
                                 : "ask " + report.leader + " at " +
                                       text::JoinAddress(report.leader_host, report.leader_port);
  reply.Error(ErrorCode::kClusterDown, "this node is a standby and cannot hand over; " + leader);
}

void ClusterFailover(Invocation& call) {
  ArgumentReader arguments(call.arguments, 2);
  FailOverRequest request;
  if (arguments.Take("TO")) {
    request.to = arguments.Next("TO");
    if (request.to.empty()) arguments.Fail("TO must be the name of a node, got \"\"");
  }
  request.is_forced = arguments.Take("FORCE");
  if (arguments.has_more()) arguments.FailUnknownOption("TO, FORCE");
  if (!arguments.Finish(call.reply)) return;
  Fleet* const fleet = FleetOf(call);
  if (fleet == nullptr) return;
  const FleetReport report = fleet->Report();
  if (report.role != FleetRole::kLeader) return RefuseAsStandby(call.reply, report);
  const FailOverStart start = fleet->StartFailOver(request);
  if (start.error.empty()) return call.reply.Ok();
  call.reply.Error(start.may_succeed_soon ? ErrorCode::kTryAgain : ErrorCode::kErr,
                   "no hand-over was started: " + start.error);
}

void ClusterAcceptRestore(Invocation& call) {
  Fleet* const fleet = FleetOf(call);
  if (fleet == nullptr) return;
  const std::string why = fleet->AcceptRestore();
  if (why.empty()) return call.reply.Ok();
  call.reply.Error(ErrorCode::kErr, "nothing was accepted: " + why);
}

constexpr std::uint32_t kDirecting = kAdmin | kDangerous | kNoScript | kNoMulti | kAudited;

// None of these commands has the flag kWrite or kReadOnly, so that a standby, and a leader that
// cannot reach etcd, execute them too.
constexpr auto kClusterCommands = std::to_array<CommandSpec>({
    {"CLUSTER",
     nullptr,
     -2,
     0,
     {},
     "server",
     "",
     "Shows and controls the fleet that this node belongs to; those of Redis Cluster are "
     "refused in the dialect `plain`",
     "Depends on the subcommand"},
    {"CLUSTER|STATUS",
     ClusterStatus,
     2,
     kDangerous,
     {},
     "server",
     "",
     "The fleet as this node knows it: leader, nodes and etcd",
     "O(nodes)"},
    {"CLUSTER|FAILOVER",
     ClusterFailover,
     -2,
     kDirecting,
     {},
     "server",
     "[TO node] [FORCE]",
     "Makes this leader hand over to a standby that has read its log, or with FORCE to any one; "
     "replies when the hand-over has begun",
     "O(connections)"},
    {"CLUSTER|ACCEPT-RESTORE",
     ClusterAcceptRestore,
     2,
     kDirecting,
     {},
     "server",
     "",
     "Accepts the state of an etcd that was restored from a backup, so that a node may lead again",
     "O(1)"},
    {"CLUSTER|HELP", AnswerHelp, 2, 0, {}, "server", "", "Lists the subcommands", "O(1)"},
});

}  // namespace

std::span<const CommandSpec> ClusterCommands() { return kClusterCommands; }

}  // namespace fairlock::command
