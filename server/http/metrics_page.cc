#include "server/http/metrics_page.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "server/command/environment/fleet.h"
#include "server/command/handlers/info_report.h"
#include "server/command/table/text.h"

namespace fairlock::http {

namespace {

using command::EtcdMember;
using command::FleetNode;
using command::FleetReport;
using command::FleetRole;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

template <typename Number>
double Real(Number value) {
  return static_cast<double>(value);
}

using Labels = std::vector<ClientMetric::Label>;

// A metric that is read from one source.
template <typename Source>
struct Metric {
  std::string_view name;
  std::string_view help;
  double (*value)(const Source&);
};

// Returns a family without samples.
MetricFamily Family(std::string_view name, std::string_view help, MetricType type) {
  return {.name = std::string(name), .help = std::string(help), .type = type, .metric = {}};
}

// The same for counters, whose names end with _total, and gauges.
MetricFamily Family(std::string_view name, std::string_view help) {
  return Family(name, help, name.ends_with("_total") ? MetricType::Counter : MetricType::Gauge);
}

// Returns a summary without quantiles, i.e. only a sum and a count.
MetricFamily SummaryFamily(std::string_view name, std::string_view help, std::uint64_t count,
                           double sum_seconds) {
  MetricFamily family = Family(name, help, MetricType::Summary);
  ClientMetric sample;
  sample.summary.sample_count = count;
  sample.summary.sample_sum = sum_seconds;
  family.metric.push_back(std::move(sample));
  return family;
}

// For a family of counters or gauges.
void AddSample(MetricFamily& family, Labels labels, double value) {
  ClientMetric sample;
  (family.type == MetricType::Counter ? sample.counter.value : sample.gauge.value) = value;
  sample.label = std::move(labels);
  family.metric.push_back(std::move(sample));
}

// Adds the label to every sample.
void AddLabel(std::vector<MetricFamily>& families, const ClientMetric::Label& label) {
  for (MetricFamily& family : families) {
    for (ClientMetric& sample : family.metric) sample.label.push_back(label);
  }
}

double Flag(bool is_set) { return is_set ? 1.0 : 0.0; }

constexpr auto kFleetMetrics = std::to_array<Metric<FleetReport>>({
    {"fairlock_fleet_leader", "1: this node leads its partition of the fleet, and etcd confirms it",
     [](const FleetReport& r) { return Flag(r.role == FleetRole::kLeader && !r.is_unsure); }},
    {"fairlock_fleet_epoch", "Increases with each take-over; 0: this node knows no leader yet",
     [](const FleetReport& r) { return Real(r.epoch); }},
    {"fairlock_fleet_unsure", "1: this node leads, but has had no confirmation from etcd for 2 s",
     [](const FleetReport& r) { return Flag(r.is_unsure); }},
    {"fairlock_fleet_awaits_acceptance",
     "1: etcd was restored from a backup, and no node leads until an operator accepts that",
     [](const FleetReport& r) { return Flag(r.awaits_acceptance); }},
    {"fairlock_etcd_commits_total", "Transactions that this process has committed as leader",
     [](const FleetReport& r) { return Real(r.commits); }},
    {"fairlock_etcd_committed_bytes_total", "Bytes that this process has written to etcd as leader",
     [](const FleetReport& r) { return Real(r.committed_bytes); }},
    {"fairlock_etcd_quota_bytes", "Quota of etcd's database (cluster_etcd_quota); 0: not checked",
     [](const FleetReport& r) { return Real(r.quota_bytes); }},
    {"fairlock_etcd_no_space", "1: etcd accepts no writes, because its NOSPACE alarm is raised",
     [](const FleetReport& r) { return Flag(r.has_no_space); }},
});

// The names of the fleet and the node are labels only of this metric: a query that needs them joins
// it with another metric.
MetricFamily InfoFamily(const FleetReport& report) {
  MetricFamily family = Family("fairlock_fleet_info", "Always 1");
  AddSample(family, {{"fleet", report.fleet}, {"node", report.node}}, 1);
  return family;
}

MetricFamily NodesFamily(const FleetReport& report) {
  MetricFamily family = Family("fairlock_fleet_nodes", "Nodes of the partition, by their role");
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
  MetricFamily family = Family("fairlock_fleet_unreachable_nodes",
                               "Nodes of the partition that most others cannot connect to");
  if (!report.error.empty()) return family;
  AddSample(family, {}, Real(std::ranges::count_if(report.nodes, [&](const FleetNode& node) {
              return node.is_unreached && command::IsPeer(report, node);
            })));
  return family;
}

// The families have no samples until this node finds its own record in etcd.
void AddLag(std::vector<MetricFamily>& families, const FleetReport& report) {
  MetricFamily in_sync =
      Family("fairlock_fleet_in_sync", "1: this node leads, or follows the log of the leader");
  MetricFamily behind =
      Family("fairlock_fleet_frames_behind",
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
  MetricFamily up = Family("fairlock_etcd_member_up",
                           "1: the etcd member serves this node, as of the last few seconds");
  MetricFamily size = Family("fairlock_etcd_database_bytes", "Size of the member's database file");
  MetricFamily in_use = Family("fairlock_etcd_database_in_use_bytes",
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

// A node reports only its own lag, because Prometheus reads the metrics of every node.
void AddFleetFamilies(std::vector<MetricFamily>& families, const FleetReport& report) {
  families.push_back(InfoFamily(report));
  for (const auto& metric : kFleetMetrics) {
    families.push_back(Family(metric.name, metric.help));
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

MetricFamily FigureFamily(const command::Figure& figure, const command::Readings& source) {
  MetricFamily family = Family(figure.metric_name, figure.help);
  const command::FigureValue value = figure.value(source);
  const auto* whole = std::get_if<std::uint64_t>(&value);
  AddSample(family, {}, whole != nullptr ? Real(*whole) : std::get<double>(value));
  return family;
}

// Returns one sample for each command whose count is not 0.
MetricFamily CommandFamily(const command::ServerParts& server, std::string_view name,
                           std::string_view help, std::uint64_t command::CommandCounts::*count) {
  MetricFamily family = Family(name, help);
  const auto rows = server.table.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t value = server.statistics.commands.commands()[i].*count;
    if (value == 0) continue;
    AddSample(family, {{"command", command::Lowered(rows[i]->name)}}, Real(value));
  }
  return family;
}

MetricFamily ErrorFamily(const command::CommandStatistics& statistics) {
  MetricFamily family = Family("fairlock_error_replies_total",
                               "Requests answered with an error, by the first word of the error");
  for (const protocol::ErrorRow& error : protocol::AllErrors()) {
    // Protocol errors begin with ERR, so they are counted under that word.
    if (error.code == protocol::ErrorCode::kProtocol) continue;
    const std::uint64_t count = statistics.ErrorsOf(error.word);
    AddSample(family, {{"error", std::string(error.word)}}, Real(count));
  }
  return family;
}

MetricFamily BuildFamily(const command::ServerFacts& facts) {
  MetricFamily family = Family("fairlock_build_info", "Always 1");
  AddSample(family, {{"version", facts.version}}, 1);
  return family;
}

// `per_second`: the number of counted units in one second.
template <typename Buckets>
void AddHistogram(MetricFamily& family, Labels labels, const Buckets& buckets, double per_second) {
  ClientMetric sample;
  sample.label = std::move(labels);
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < buckets.counts().size(); ++i) {
    cumulative += buckets.counts()[i];
    const double bound = i < Buckets::kBounds.size() ? Real(Buckets::kBounds[i]) / per_second
                                                     : std::numeric_limits<double>::infinity();
    sample.histogram.bucket.push_back({cumulative, bound});
  }
  sample.histogram.sample_count = cumulative;
  sample.histogram.sample_sum = Real(buckets.sum()) / per_second;
  family.metric.push_back(std::move(sample));
}

void AddLoopFamilies(std::vector<MetricFamily>& families, const command::Readings& source) {
  families.push_back(
      Family("fairlock_turn_seconds",
             "Duration of event loop iterations, not counting time spent waiting for work",
             MetricType::Histogram));
  AddHistogram(families.back(), {}, source.server.statistics.counters.turns_us, 1e6);
  families.push_back(Family("fairlock_expiry_lag_seconds",
                            "How late the event loop handled work that was due",
                            MetricType::Histogram));
  AddHistogram(families.back(), {}, source.server.statistics.counters.expiry_lag_ms, 1e3);
  const command::PersistenceReport& kept = source.persistence;
  families.push_back(SummaryFamily("fairlock_journal_commit_seconds",
                                   "Time from handing over a batch until its replies could be sent",
                                   kept.batches_timed, Real(kept.batches_ms) / 1e3));
  families.push_back(SummaryFamily("fairlock_journal_sync_seconds", "How long syncs took",
                                   kept.syncs, Real(kept.syncs_us) / 1e6));
}

// Adds the totals since the start, by label.
void AddTotals(std::vector<MetricFamily>& families, const record::LabelTotals& totals) {
  MetricFamily events = Family("fairlock_events_total", "What happened to locks, by their label");
  MetricFamily waits =
      Family("fairlock_wait_seconds", "Wait times of those granted a lock after waiting",
             MetricType::Histogram);
  MetricFamily holds =
      Family("fairlock_hold_seconds", "Duration of holds that have ended", MetricType::Histogram);
  for (const auto& total : totals.all()) {
    for (std::size_t i = 0; i < total->counts.size(); ++i) {
      AddSample(events, {{"label", total->label}, {"event", std::string(record::kCounterNames[i])}},
                Real(total->counts[i]));
    }
    AddHistogram(waits, {{"label", total->label}}, total->waits, 1e3);
    AddHistogram(holds, {{"label", total->label}}, total->holds, 1e3);
  }
  families.push_back(std::move(events));
  families.push_back(std::move(waits));
  families.push_back(std::move(holds));
}

// Adds the current values, by label.
void AddSurvey(std::vector<MetricFamily>& families, const LockSurvey& survey,
               const record::LabelTotals* totals) {
  constexpr auto kMetrics = std::to_array<Metric<LocksOfLabel>>({
      {"fairlock_oldest_wait_seconds", "How long the longest waiter has waited so far",
       [](const LocksOfLabel& l) { return Real(l.longest_wait_ms) / 1000; }},
      {"fairlock_oldest_hold_seconds", "How long the oldest hold has lasted so far",
       [](const LocksOfLabel& l) { return Real(l.oldest_hold_ms) / 1000; }},
      {"fairlock_label_holders", "Current holds, by the label of the lock's oldest hold",
       [](const LocksOfLabel& l) { return Real(l.holders); }},
      {"fairlock_label_waiters", "Current waiters, by the label of the lock's oldest hold",
       [](const LocksOfLabel& l) { return Real(l.waiters); }},
      {"fairlock_endless_locks",
       "Locks that currently have a hold with no expiry, by the label of the oldest hold",
       [](const LocksOfLabel& l) { return Real(l.endless_locks); }},
  });
  for (const auto& metric : kMetrics) {
    MetricFamily family = Family(metric.name, metric.help);
    for (std::size_t i = 0; i < survey.by_label().size(); ++i) {
      // Labels may have been dropped from the totals since the survey.
      if (totals != nullptr && i >= totals->all().size()) break;
      const std::string label = totals == nullptr ? "" : totals->all()[i]->label;
      AddSample(family, {{"label", label}}, metric.value(survey.by_label()[i]));
    }
    families.push_back(std::move(family));
  }
}

class MetricsWork final : public SharedWork {
 public:
  explicit MetricsWork(command::ServerParts& server) : server_(server), survey_(server) {}

  std::optional<Answer> Step(CommandCaller&, engine::TimeMs now) override {
    if (!survey_.Step(now)) return std::nullopt;
    return Answer{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                  .body = MetricsPage(server_, survey_, now)};
  }

 private:
  command::ServerParts& server_;
  LockSurvey survey_;
};

}  // namespace

std::string MetricsPage(command::ServerParts& server, const LockSurvey& survey,
                        engine::TimeMs now) {
  server.availability.LookAtMemory(now);
  const command::Readings source(server, now);
  std::vector<MetricFamily> families;
  families.push_back(BuildFamily(server.environment.facts));
  for (const command::Figure& figure : command::AllFigures()) {
    if (!figure.metric_name.empty()) families.push_back(FigureFamily(figure, source));
  }
  AddLoopFamilies(families, source);
  const command::Fleet* const fleet = server.environment.fleet;
  std::optional<command::FleetReport> report;
  if (fleet != nullptr) report = fleet->Report();
  if (report) AddFleetFamilies(families, *report);
  const record::LabelTotals* totals = server.recorder.totals();
  if (totals != nullptr) AddTotals(families, *totals);
  AddSurvey(families, survey, totals);
  families.push_back(ErrorFamily(server.statistics.commands));
  families.push_back(CommandFamily(server, "fairlock_commands_total",
                                   "Requests executed, by command",
                                   &command::CommandCounts::calls));
  families.push_back(CommandFamily(server, "fairlock_command_failures_total",
                                   "Requests executed and answered with an error, by command",
                                   &command::CommandCounts::failed));
  families.push_back(CommandFamily(server, "fairlock_command_rejections_total",
                                   "Requests refused before they were executed, by command",
                                   &command::CommandCounts::rejected));
  // A node serves one partition for life, but first it must learn which one.
  if (report && report->partitions != 0) {
    AddLabel(families, {"partition", std::to_string(report->partition)});
  }
  std::ostringstream page;
  prometheus::TextSerializer().Serialize(page, families);
  return std::move(page).str();
}

std::unique_ptr<SharedWork> MakeMetricsPage(command::ServerParts& server) {
  return std::make_unique<MetricsWork>(server);
}

LockSurvey::LockSurvey(command::ServerParts& server) : server_(server) {
  const record::LabelTotals* totals = server.recorder.totals();
  by_label_.resize(totals == nullptr ? 1 : totals->all().size());
}

bool LockSurvey::Step(engine::TimeMs now) {
  const engine::LockEngine& engine = server_.locks.engine();
  // Scans the locks a second time, because the summary does not say whether a hold is endless.
  engine.inspection().Scan(
      cursor_, kLocksPerStep, {.is_endless = true}, now,
      [this](const engine::LockSummary& lock) { ++OfLabel(lock.label).endless_locks; });
  cursor_ = engine.inspection().Scan(
      cursor_, kLocksPerStep, {}, now, [this](const engine::LockSummary& lock) {
        LocksOfLabel& label = OfLabel(lock.label);
        label.holders += lock.holder_count;
        label.waiters += lock.waiter_count;
        label.oldest_hold_ms = std::max(label.oldest_hold_ms, lock.oldest_hold_ms);
        label.longest_wait_ms = std::max(label.longest_wait_ms, lock.longest_wait_ms);
      });
  return cursor_ == 0;
}

LocksOfLabel& LockSurvey::OfLabel(std::string_view label) {
  const record::LabelTotals* totals = server_.recorder.totals();
  const std::size_t index = totals == nullptr ? 0 : totals->IndexOf(label);
  // A label that is newer than the beginning of the walk has no entry, so it counts as
  // LabelTotals::kOther, at index 1.
  return by_label_[index < by_label_.size() ? index : 1];
}

}  // namespace fairlock::http
