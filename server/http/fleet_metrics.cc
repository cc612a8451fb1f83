#include "server/http/fleet_metrics.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "server/http/metric_families.h"

namespace fairlock::http {

namespace {

using command::EtcdMember;
using command::FleetNode;
using command::FleetReport;
using command::FleetRole;
using prometheus::MetricFamily;
using prometheus::MetricType;

// One metric without labels.
struct FleetMetric {
  std::string_view name;
  MetricType type;
  std::string_view help;
  double (*value)(const FleetReport&);
};

double Flag(bool is_set) { return is_set ? 1.0 : 0.0; }

constexpr auto kFleetMetrics = std::to_array<FleetMetric>({
    {"fairlock_fleet_leader", MetricType::Gauge,
     "1: this node leads its partition of the fleet, and etcd confirms it",
     [](const FleetReport& r) { return Flag(r.role == FleetRole::kLeader && !r.is_unsure); }},
    {"fairlock_fleet_epoch", MetricType::Gauge,
     "Increases with each take-over; 0: this node knows no leader yet",
     [](const FleetReport& r) { return Real(r.epoch); }},
    {"fairlock_fleet_unsure", MetricType::Gauge,
     "1: this node leads, but has had no confirmation from etcd for 2 s",
     [](const FleetReport& r) { return Flag(r.is_unsure); }},
    {"fairlock_fleet_awaits_acceptance", MetricType::Gauge,
     "1: etcd was restored from a backup, and no node leads until an operator accepts that",
     [](const FleetReport& r) { return Flag(r.awaits_acceptance); }},
    {"fairlock_etcd_commits_total", MetricType::Counter,
     "Transactions that this process has committed as leader",
     [](const FleetReport& r) { return Real(r.commits); }},
    {"fairlock_etcd_committed_bytes_total", MetricType::Counter,
     "Bytes that this process has written to etcd as leader",
     [](const FleetReport& r) { return Real(r.committed_bytes); }},
    {"fairlock_etcd_quota_bytes", MetricType::Gauge,
     "Quota of etcd's database (cluster_etcd_quota); 0: not checked",
     [](const FleetReport& r) { return Real(r.quota_bytes); }},
    {"fairlock_etcd_no_space", MetricType::Gauge,
     "1: etcd accepts no writes, because its NOSPACE alarm is raised",
     [](const FleetReport& r) { return Flag(r.has_no_space); }},
});

// The names of the fleet and the node are labels only of this metric: a query that needs them joins
// it with another metric.
MetricFamily InfoFamily(const FleetReport& report) {
  MetricFamily family = Family("fairlock_fleet_info", MetricType::Gauge, "Always 1");
  AddSample(family, {{"fleet", report.fleet}, {"node", report.node}}, 1);
  return family;
}

MetricFamily NodesFamily(const FleetReport& report) {
  MetricFamily family =
      Family("fairlock_fleet_nodes", MetricType::Gauge, "Nodes of the partition, by their role");
  const auto count = [&report](FleetRole role) {
    return Real(std::ranges::count_if(report.nodes, [&](const FleetNode& node) {
      return node.role == role && command::IsPeer(report, node);
    }));
  };
  AddSample(family, {{"role", "leader"}}, count(FleetRole::kLeader));
  AddSample(family, {{"role", "standby"}}, count(FleetRole::kStandby));
  AddSample(family, {{"role", "lost"}}, count(FleetRole::kLost));
  return family;
}

// There is no sample while etcd does not answer this node: the list of the nodes may be old.
MetricFamily UnreachableFamily(const FleetReport& report) {
  MetricFamily family = Family("fairlock_fleet_unreachable_nodes", MetricType::Gauge,
                               "Nodes of the partition that most others cannot connect to");
  if (!report.error.empty()) return family;
  AddSample(family, {}, Real(std::ranges::count_if(report.nodes, [&](const FleetNode& node) {
              return node.is_unreached && command::IsPeer(report, node);
            })));
  return family;
}

// The families have no samples until this node finds its own record in etcd.
void AddLag(std::vector<MetricFamily>& families, const FleetReport& report) {
  MetricFamily in_sync = Family("fairlock_fleet_in_sync", MetricType::Gauge,
                                "1: this node leads, or follows the log of the leader");
  MetricFamily behind =
      Family("fairlock_fleet_frames_behind", MetricType::Gauge,
             "Frames of the leader's log that this node does not have yet; 0 on the leader");
  const auto own = std::ranges::find(report.nodes, report.node, &FleetNode::name);
  if (own != report.nodes.end()) {
    AddSample(in_sync, {}, Flag(own->is_in_sync));
    AddSample(behind, {}, Real(own->frames_behind));
  }
  families.push_back(std::move(in_sync));
  families.push_back(std::move(behind));
}

// There are no sizes for a member that serves nothing.
void AddMembers(std::vector<MetricFamily>& families, const FleetReport& report) {
  MetricFamily up = Family("fairlock_etcd_member_up", MetricType::Gauge,
                           "1: the etcd member serves this node, as of the last few seconds");
  MetricFamily size = Family("fairlock_etcd_database_bytes", MetricType::Gauge,
                             "Size of the member's database file");
  MetricFamily in_use = Family("fairlock_etcd_database_in_use_bytes", MetricType::Gauge,
                               "Size of the data in the member's database file; defragmenting the "
                               "member would free the rest");
  for (const EtcdMember& member : report.etcd) {
    const Labels labels = {{"endpoint", member.endpoint}};
    AddSample(up, labels, Flag(member.error.empty()));
    if (!member.error.empty()) continue;
    AddSample(size, labels, Real(member.size_bytes));
    AddSample(in_use, labels, Real(member.size_in_use_bytes));
  }
  for (MetricFamily* family : {&up, &size, &in_use}) families.push_back(std::move(*family));
}

}  // namespace

void AddFleetFamilies(std::vector<MetricFamily>& families, const FleetReport& report) {
  families.push_back(InfoFamily(report));
  for (const FleetMetric& metric : kFleetMetrics) {
    families.push_back(Family(metric.name, metric.type, metric.help));
    AddSample(families.back(), {}, metric.value(report));
  }
  families.push_back(NodesFamily(report));
  families.push_back(UnreachableFamily(report));
  AddLag(families, report);
  families.push_back(SummaryFamily("fairlock_etcd_commit_seconds",
                                   "How long etcd took to commit transactions of this process",
                                   report.commits, Real(report.commits_us) / 1e6));
  AddMembers(families, report);
}

}  // namespace fairlock::http
