#include "server/services/fleet_report.h"

#include <algorithm>
#include <utility>

#include "storage/replicated/standby.h"
#include "storage/replicated/succession.h"
#include "text/number.h"

namespace fairlock::server {

namespace {

using storage::replicated::Beat;
using storage::replicated::NodeRecord;

// The role may differ from what the record says, because the record of a node that is gone remains
// for a few seconds.
command::FleetNode NodeOf(const NodeRecord& record, command::FleetRole role, bool is_unreached) {
  const text::Address at = AnnouncedAddress(record.address);
  const bool leads = role == command::FleetRole::kLeader;
  return {.name = record.name,
          .host = at.host,
          .port = at.port,
          .tls_port = record.tls_port,
          .sentinel_port = record.sentinel_port,
          .version = record.version,
          .partition = record.partition,
          .role = role,
          .epoch = leads ? record.epoch : 0,
          .is_in_sync = record.is_in_sync && record.leads == leads,
          .frames_behind = record.frames_behind,
          .is_unreached = is_unreached,
          .started_unix_ms = record.started_unix_ms,
          .options = record.options,
          .refused_etcd = record.refused_etcd};
}

// What a standby knows of the leader from its beats. The beats of a restored etcd are old.
void ReportLeaderSeen(const FleetKnowledge& known, command::FleetReport& report) {
  report.leader_heard_ms = known.heard_ms_ago;
  const Beat& seen = known.seen;
  const bool leads = seen.state == Beat::State::kLeading && seen.leader != known.own.name &&
                     !known.awaits_acceptance;
  if (!leads || known.heard_ms_ago >= storage::replicated::Standby::kLostMs) {
    report.last_leader = seen.leader;
    return;
  }
  report.leader = seen.leader;
  const NodeRecord* const leader = FindRecord(known.view, seen.leader);
  if (leader != nullptr && leader->leads) {
    report.leads_since_unix_ms = leader->leads_since_unix_ms;
  }
}

// While etcd does not confirm that this node leads, another one may.
void ReportDoubt(const FleetKnowledge& known, command::FleetReport& report) {
  report.is_unsure = known.unsure_ms >= 0;
  if (!report.is_unsure) return;
  if (!report.leader.empty()) report.last_leader = std::exchange(report.leader, "");
  report.leader_heard_ms = known.unsure_ms;
  report.leads_since_unix_ms = 0;
}

// This node knows itself better than the list does, which may be old.
command::FleetNode NodeIn(const FleetKnowledge& known, const command::FleetReport& report,
                          const NodeRecord& record) {
  const bool is_own = record.name == report.node;
  const NodeRecord& node = is_own ? known.own : record;
  const bool leads =
      node.partition == report.partition
          ? node.name == report.leader
          : &record == storage::replicated::LeaderOf(known.view.nodes, record.partition);
  auto role = node.leads ? command::FleetRole::kLost : command::FleetRole::kStandby;
  if (leads) role = command::FleetRole::kLeader;
  if (is_own && report.is_unsure) role = command::FleetRole::kUnsure;
  return NodeOf(node, role, storage::replicated::IsUnreached(known.view.nodes, record));
}

}  // namespace

text::Address AnnouncedAddress(std::string_view address) {
  const text::AddressParts parts = text::SplitAddress(address);
  return {.host = std::string(text::WithoutBrackets(parts.host)),
          .port = text::ParseNumber<std::uint16_t>(parts.port.value_or("")).value_or(0)};
}

const NodeRecord* FindRecord(const storage::replicated::FleetView& view, std::string_view name) {
  const auto found = std::ranges::find(view.nodes, name, &NodeRecord::name);
  return found == view.nodes.end() ? nullptr : &*found;
}

void ReportLeader(const FleetKnowledge& known, command::FleetReport& report) {
  const NodeRecord& own = known.own;
  report.epoch = own.leads ? own.epoch : known.seen.epoch;
  if (own.leads) {
    report.role = command::FleetRole::kLeader;
    report.leads_since_unix_ms = own.leads_since_unix_ms;
    report.leader = own.name;
  } else if (known.seen.epoch != 0) {
    ReportLeaderSeen(known, report);
  }
  if (report.leader.empty()) return;
  const text::Address at = AnnouncedAddress(own.leads ? own.address : known.seen.address);
  report.leader_host = at.host;
  report.leader_port = at.port;
}

void ReportFleet(const FleetKnowledge& known, command::FleetReport& report) {
  ReportLeader(known, report);
  ReportDoubt(known, report);
  report.awaits_acceptance = known.awaits_acceptance;
  for (const NodeRecord& record : known.view.nodes) {
    report.nodes.push_back(NodeIn(known, report, record));
  }
}

}  // namespace fairlock::server
