#include "server/sentinel/instances.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "server/command/cluster/slots.h"

namespace fairlock::sentinel {

namespace {

using command::FleetNode;
using command::FleetReport;
using command::NodeId;
using protocol::ReplyWriter;

using Field = std::pair<std::string_view, std::string>;

void WriteFields(std::initializer_list<Field> fields, ReplyWriter& reply) {
  reply.MapHeader(fields.size());
  for (const auto& [name, value] : fields) {
    reply.Bulk(name);
    reply.Bulk(value);
  }
}

std::string AgeOf(const FleetReport& fleet) {
  return std::to_string(std::max<std::int64_t>(fleet.age_ms, 0));
}

bool IsStandby(const FleetReport& fleet, const FleetNode& node) {
  return node.name != fleet.leader && IsPeer(fleet, node);
}

bool IsOtherSentinel(const FleetReport& fleet, const FleetNode& node) {
  return node.name != fleet.node && node.sentinel_port != 0;
}

void WriteReplica(const MasterView& view, const FleetNode& node, ReplyWriter& reply) {
  const FleetReport& fleet = view.fleet;
  const std::string port = std::to_string(command::AnnouncedPort(node));
  WriteFields({{"name", node.host + ":" + port},
               {"ip", node.host},
               {"port", port},
               {"runid", NodeId(fleet.fleet, node.name)},
               {"flags", "slave"},
               {"link-pending-commands", "0"},
               {"link-refcount", "1"},
               {"last-ping-sent", "0"},
               {"last-ok-ping-reply", AgeOf(fleet)},
               {"last-ping-reply", AgeOf(fleet)},
               {"down-after-milliseconds", "1000"},
               {"info-refresh", AgeOf(fleet)},
               {"role-reported", "slave"},
               {"role-reported-time", AgeOf(fleet)},
               {"master-link-down-time", "0"},
               {"master-link-status", node.is_in_sync ? "ok" : "err"},
               {"master-host", view.host},
               {"master-port", std::to_string(view.port)},
               {"slave-priority", "100"},
               {"slave-repl-offset", std::to_string(command::OffsetOf(fleet, node))},
               {"replica-announced", "1"}},
              reply);
}

void WriteSentinel(const FleetReport& fleet, const FleetNode& node, ReplyWriter& reply) {
  const std::string id = NodeId(fleet.fleet, node.name);
  WriteFields({{"name", id},
               {"ip", node.host},
               {"port", std::to_string(node.sentinel_port)},
               {"runid", id},
               {"flags", "sentinel"},
               {"link-pending-commands", "0"},
               {"link-refcount", "1"},
               {"last-ping-sent", "0"},
               {"last-ok-ping-reply", AgeOf(fleet)},
               {"last-ping-reply", AgeOf(fleet)},
               {"down-after-milliseconds", "1000"},
               {"last-hello-message", AgeOf(fleet)},
               {"voted-leader", "?"},
               {"voted-leader-epoch", "0"}},
              reply);
}

}  // namespace

std::size_t CountOtherSentinels(const FleetReport& fleet) {
  return static_cast<std::size_t>(std::ranges::count_if(
      fleet.nodes, [&](const FleetNode& node) { return IsOtherSentinel(fleet, node); }));
}

std::size_t CountStandbys(const FleetReport& fleet) {
  return static_cast<std::size_t>(std::ranges::count_if(
      fleet.nodes, [&](const FleetNode& node) { return IsStandby(fleet, node); }));
}

void WriteMaster(const MasterView& view, std::int64_t unix_ms, ReplyWriter& reply) {
  const FleetReport& fleet = view.fleet;
  const std::int64_t leads_since = fleet.leads_since_unix_ms;
  const std::int64_t leads_ms =
      leads_since == 0 ? 0 : std::max<std::int64_t>(unix_ms - leads_since, 0);
  WriteFields({{"name", fleet.fleet},
               {"ip", view.host},
               {"port", std::to_string(view.port)},
               {"runid", fleet.leader.empty() ? "" : NodeId(fleet.fleet, fleet.leader)},
               // Clients do not use a master with the first set of flags; they ask again later.
               {"flags", view.is_down ? "s_down,o_down,master,disconnected" : "master"},
               {"link-pending-commands", "0"},
               {"link-refcount", "1"},
               {"last-ping-sent", "0"},
               {"last-ok-ping-reply", AgeOf(fleet)},
               {"last-ping-reply", AgeOf(fleet)},
               {"down-after-milliseconds", "1000"},
               {"info-refresh", AgeOf(fleet)},
               {"role-reported", "master"},
               {"role-reported-time", std::to_string(leads_ms)},
               {"config-epoch", std::to_string(fleet.epoch)},
               {"num-slaves", std::to_string(CountStandbys(fleet))},
               {"num-other-sentinels", std::to_string(CountOtherSentinels(fleet))},
               // One Sentinel is enough for an agreement, because each node learns from etcd who
               // leads.
               {"quorum", "1"},
               {"failover-timeout", "10000"},
               {"parallel-syncs", "1"}},
              reply);
}

void WriteReplicas(const MasterView& view, ReplyWriter& reply) {
  reply.ArrayHeader(CountStandbys(view.fleet));
  for (const FleetNode& node : view.fleet.nodes) {
    if (IsStandby(view.fleet, node)) WriteReplica(view, node, reply);
  }
}

void WriteSentinels(const MasterView& view, ReplyWriter& reply) {
  reply.ArrayHeader(CountOtherSentinels(view.fleet));
  for (const FleetNode& node : view.fleet.nodes) {
    if (IsOtherSentinel(view.fleet, node)) WriteSentinel(view.fleet, node, reply);
  }
}

}  // namespace fairlock::sentinel
