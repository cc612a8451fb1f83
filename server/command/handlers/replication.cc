#include "server/command/handlers/replication.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace fairlock::command {

namespace {

constexpr std::string_view kSingleServer = "role:master\r\nconnected_slaves:0\r\n";

std::vector<FleetNode> StandbysOf(const FleetReport& leaders) {
  std::vector<FleetNode> standbys = leaders.nodes;
  std::erase_if(standbys, [&](const FleetNode& node) {
    return node.name == leaders.node || !IsPeer(leaders, node);
  });
  return standbys;
}

void PutLine(std::string& lines, std::string_view name, std::string_view value) {
  lines.append(name).append(":").append(value).append("\r\n");
}

std::string LeaderLines(const FleetReport& report) {
  std::string lines;
  const std::vector<FleetNode> standbys = StandbysOf(report);
  PutLine(lines, "role", "master");
  PutLine(lines, "connected_slaves", std::to_string(standbys.size()));
  const std::string lag = std::to_string(std::max<std::int64_t>(report.age_ms, 0) / 1000);
  for (std::size_t i = 0; i < standbys.size(); ++i) {
    const FleetNode& node = standbys[i];
    std::string fields = "ip=" + node.host;
    fields.append(",port=").append(std::to_string(AnnouncedPort(node)));
    // Redis reports this state for a replica that does not have all data yet.
    fields.append(",state=").append(node.is_in_sync ? "online" : "wait_bgsave");
    fields.append(",offset=").append(std::to_string(OffsetOf(report, node)));
    fields.append(",lag=").append(lag);
    PutLine(lines, "slave" + std::to_string(i), fields);
  }
  PutLine(lines, "master_repl_offset", std::to_string(report.commits));
  return lines;
}

std::string StandbyLines(const FleetReport& report) {
  std::string lines;
  PutLine(lines, "role", "slave");
  PutLine(lines, "master_host", report.leader_host);
  PutLine(lines, "master_port", std::to_string(report.leader_port));
  PutLine(lines, "master_link_status", report.leader.empty() ? "down" : "up");
  PutLine(lines, "master_sync_in_progress", "0");
  PutLine(lines, "slave_repl_offset", "0");
  PutLine(lines, "slave_priority", "100");
  PutLine(lines, "slave_read_only", "1");
  PutLine(lines, "connected_slaves", "0");
  PutLine(lines, "master_repl_offset", "0");
  return lines;
}

}  // namespace

std::string ReplicationLines(const Fleet* fleet) {
  if (fleet == nullptr) return std::string(kSingleServer);
  const FleetReport report = fleet->Report();
  return report.role == FleetRole::kLeader ? LeaderLines(report) : StandbyLines(report);
}

void ReplyRole(const Fleet* fleet, protocol::ReplyWriter& reply) {
  FleetReport report;
  report.role = FleetRole::kLeader;
  if (fleet != nullptr) report = fleet->Report();
  if (report.role == FleetRole::kStandby) {
    reply.ArrayHeader(5);
    reply.Bulk("slave");
    reply.Bulk(report.leader_host);
    reply.Integer(report.leader_port);
    reply.Bulk(report.leader.empty() ? "connect" : "connected");
    return reply.Integer(0);
  }
  const std::vector<FleetNode> standbys = StandbysOf(report);
  reply.ArrayHeader(3);
  reply.Bulk("master");
  reply.Integer(static_cast<std::int64_t>(report.commits));
  reply.ArrayHeader(standbys.size());
  for (const FleetNode& standby : standbys) {
    reply.ArrayHeader(3);
    reply.Bulk(standby.host);
    reply.Bulk(std::to_string(AnnouncedPort(standby)));
    reply.Bulk(std::to_string(OffsetOf(report, standby)));
  }
}

std::int64_t ReplicasWithAllChanges(const Fleet* fleet) {
  return fleet == nullptr ? 0 : static_cast<std::int64_t>(StandbysOf(fleet->Report()).size());
}

std::string FleetLines(const Fleet* fleet) {
  if (fleet == nullptr) return "";
  const FleetReport report = fleet->Report();
  std::string lines;
  PutLine(lines, "fleet_name", report.fleet);
  PutLine(lines, "fleet_node", report.node);
  PutLine(lines, "fleet_leader", report.leader);
  PutLine(lines, "fleet_epoch", std::to_string(report.epoch));
  return lines;
}

}  // namespace fairlock::command
