#include "server/http/metrics_page.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "server/command/table/text.h"
#include "server/http/fleet_metrics.h"
#include "server/http/metric_families.h"

namespace fairlock::http {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

struct Source {
  command::ServerParts& server;
  const command::ServerCounters& counters;
  const engine::EngineCounts& locks;
  const command::ResourceUse resources;
  const command::PersistenceReport persistence;
  const engine::TimeMs now;
};

// One metric without labels.
struct Metric {
  std::string_view name;
  MetricType type;
  std::string_view help;
  double (*value)(const Source&);
};

double Seconds(std::int64_t ms) { return Real(ms) / 1000; }

// Returns the age of the oldest override that has no end; 0 if there is none.
engine::DurationMs OldestOverrideMs(const Source& source) {
  engine::DurationMs oldest_ms = 0;
  for (const engine::LimitOverride& row :
       source.server.locks.engine().limits().Overrides(source.now).all()) {
    // The metric serves to find overrides that an operator has forgotten, so an override that ends
    // by itself does not count.
    if (row.end == engine::kNever) oldest_ms = std::max(oldest_ms, source.now - row.since);
  }
  return oldest_ms;
}

constexpr auto kMetrics = std::to_array<Metric>({
    {"fairlock_uptime_seconds", MetricType::Gauge, "How long the server has been running",
     [](const Source& s) { return Real(s.now - s.server.started_at) / 1000; }},
    {"fairlock_locks", MetricType::Gauge, "Keys that are held or waited for",
     [](const Source& s) { return Real(s.locks.locks); }},
    {"fairlock_holders", MetricType::Gauge, "Holds on all locks",
     [](const Source& s) { return Real(s.locks.holds); }},
    {"fairlock_waiters", MetricType::Gauge,
     "Places in queues whose owners are waiting, or are expected to come back",
     [](const Source& s) { return Real(s.locks.places - s.locks.skipped); }},
    {"fairlock_places_passed_over", MetricType::Gauge,
     "Places in queues that delay nobody: the connection is lost, or SET NX was denied once",
     [](const Source& s) { return Real(s.locks.skipped); }},
    {"fairlock_cooling_rooms", MetricType::Gauge, "Slots that MINHOLD keeps from being granted",
     [](const Source& s) { return Real(s.locks.cooldowns); }},
    {"fairlock_values", MetricType::Gauge, "Hashes, lists, sets and sorted sets",
     [](const Source& s) { return Real(s.server.values.store().size()); }},
    {"fairlock_grants_total", MetricType::Counter, "Locks granted",
     [](const Source& s) { return Real(s.locks.granted); }},
    {"fairlock_grants_after_wait_total", MetricType::Counter, "Locks granted to those who waited",
     [](const Source& s) { return Real(s.locks.granted_after_wait); }},
    {"fairlock_denials_total", MetricType::Counter, "Requests answered with nil immediately",
     [](const Source& s) { return Real(s.locks.denied); }},
    {"fairlock_wait_timeouts_total", MetricType::Counter, "Waits that ended without a grant",
     [](const Source& s) { return Real(s.locks.timed_out); }},
    {"fairlock_releases_total", MetricType::Counter, "Holds ended by their owners",
     [](const Source& s) { return Real(s.locks.released); }},
    {"fairlock_expirations_total", MetricType::Counter, "Holds ended because their lease expired",
     [](const Source& s) { return Real(s.locks.expired); }},
    {"fairlock_session_ends_total", MetricType::Counter,
     "Holds ended because their connection was gone",
     [](const Source& s) { return Real(s.locks.disconnected); }},
    {"fairlock_breaks_total", MetricType::Counter, "Holds ended by force",
     [](const Source& s) { return Real(s.locks.broken + s.server.statistics.broken_in_values); }},
    {"fairlock_history_file_events_total", MetricType::Counter, "Events written to history_file",
     [](const Source& s) {
       const record::EventTap* tap = s.server.recorder.tap();
       return Real(tap == nullptr ? 0 : tap->written());
     }},
    {"fairlock_history_file_dropped_total", MetricType::Counter,
     "Events missing from history_file, because its disk was slow, full or broken",
     [](const Source& s) {
       const record::EventTap* tap = s.server.recorder.tap();
       return Real(tap == nullptr ? 0 : tap->dropped());
     }},
    {"fairlock_newest_token", MetricType::Gauge, "The fencing token of the newest grant",
     [](const Source& s) { return Real(s.locks.newest_token); }},
    {"fairlock_limit_overrides", MetricType::Gauge, "LIMIT overrides in force",
     [](const Source& s) {
       return Real(s.server.locks.engine().limits().Overrides(s.now).all().size());
     }},
    {"fairlock_limit_override_oldest_seconds", MetricType::Gauge,
     "Age of the oldest LIMIT override that has no end; 0: there is none",
     [](const Source& s) { return Seconds(OldestOverrideMs(s)); }},
    {"fairlock_connections", MetricType::Gauge, "Connected clients, not counting those over HTTP",
     [](const Source& s) {
       return Real(s.server.clients.size() - s.server.statistics.gauges.http_clients);
     }},
    {"fairlock_http_connections", MetricType::Gauge, "Connections over HTTP",
     [](const Source& s) { return Real(s.server.statistics.gauges.http_clients); }},
    {"fairlock_connections_max", MetricType::Gauge, "How many clients may be connected",
     [](const Source& s) { return Real(s.server.environment.facts.connections_max); }},
    {"fairlock_connections_received_total", MetricType::Counter, "Connections accepted",
     [](const Source& s) { return Real(s.counters.connections_received); }},
    {"fairlock_connections_rejected_total", MetricType::Counter,
     "Connections refused (over HTTP: closed) because there were too many",
     [](const Source& s) { return Real(s.counters.connections_rejected); }},
    {"fairlock_connections_rejected_by_address_total", MetricType::Counter,
     "Of these, the connections refused only because their own address had too many",
     [](const Source& s) { return Real(s.counters.rejected_by_address); }},
    {"fairlock_connections_unauthenticated", MetricType::Gauge,
     "Connected clients that must log in and have not",
     [](const Source& s) { return Real(s.server.newcomers.size()); }},
    {"fairlock_connections_closed_unauthenticated_total", MetricType::Counter,
     "Connections closed because they had not logged in",
     [](const Source& s) { return Real(s.counters.closed_without_log_in); }},
    {"fairlock_connections_over_output_limit_total", MetricType::Counter,
     "Connections closed because they did not read their replies",
     [](const Source& s) { return Real(s.counters.closed_over_output_limit); }},
    {"fairlock_connections_over_request_deadline_total", MetricType::Counter,
     "Connections closed because they did not send the rest of a request",
     [](const Source& s) { return Real(s.counters.closed_over_request_deadline); }},
    {"fairlock_unread_reply_bytes", MetricType::Gauge,
     "Memory for replies that clients have not read yet",
     [](const Source& s) { return Real(s.server.statistics.gauges.unread_reply_bytes); }},
    {"fairlock_unexecuted_request_bytes", MetricType::Gauge,
     "Memory for what was received and could not be executed yet",
     [](const Source& s) { return Real(s.server.statistics.gauges.unexecuted_input_bytes); }},
    {"fairlock_connections_over_input_limit_total", MetricType::Counter,
     "Connections closed because they sent too much that could not be executed yet",
     [](const Source& s) { return Real(s.counters.closed_over_input_limit); }},
    {"fairlock_input_bytes_total", MetricType::Counter, "Bytes received from clients",
     [](const Source& s) { return Real(s.counters.input_bytes); }},
    {"fairlock_output_bytes_total", MetricType::Counter, "Bytes sent to clients",
     [](const Source& s) { return Real(s.counters.output_bytes); }},
    {"fairlock_protocol_errors_total", MetricType::Counter,
     "Connections closed because they sent bytes that are not a request",
     [](const Source& s) { return Real(s.counters.protocol_errors); }},
    {"fairlock_failed_log_ins_total", MetricType::Counter,
     "Log-ins with a wrong password, or as a disabled or unknown user",
     [](const Source& s) { return Real(s.counters.failed_log_ins); }},
    {"fairlock_denied_requests_total", MetricType::Counter,
     "Requests refused because their user may not make them",
     [](const Source& s) { return Real(s.counters.denied_requests); }},
    {"fairlock_turns_total", MetricType::Counter, "Iterations of the event loop",
     [](const Source& s) { return Real(s.counters.turns); }},
    {"fairlock_ready", MetricType::Gauge, "1: locks can be taken",
     [](const Source& s) { return s.server.availability.takes_locks() ? 1.0 : 0.0; }},
    {"fairlock_storage_failed", MetricType::Gauge,
     "1: the disk has failed, so no changes are accepted",
     [](const Source& s) { return s.persistence.has_failed ? 1.0 : 0.0; }},
    {"fairlock_storage_short_of_space", MetricType::Gauge,
     "1: free disk space is below min_free_disk (in a fleet: less than a fifth of etcd's quota is "
     "left), so no new locks are granted",
     [](const Source& s) {
       return s.server.availability.service() == command::Service::kShortOfSpace ? 1.0 : 0.0;
     }},
    {"fairlock_storage_free_bytes", MetricType::Gauge,
     "Free space on the disk with the data; 0: no data is stored",
     [](const Source& s) { return Real(s.persistence.free_disk_bytes); }},
    {"fairlock_journal_batches_total", MetricType::Counter, "Batches handed to the journal",
     [](const Source& s) { return Real(s.persistence.newest_batch); }},
    {"fairlock_journal_waiting_bytes", MetricType::Gauge,
     "Bytes handed to the journal but not yet written",
     [](const Source& s) { return Real(s.persistence.waiting_bytes); }},
    {"fairlock_journal_lag_seconds", MetricType::Gauge,
     "How long replies have been waiting for the disk so far",
     [](const Source& s) { return Seconds(s.persistence.journal_lag_ms); }},
    {"fairlock_resident_memory_bytes", MetricType::Gauge, "Memory used by the process",
     [](const Source& s) { return Real(s.resources.resident_bytes); }},
    {"fairlock_allocated_memory_bytes", MetricType::Gauge,
     "Memory in use; 0: the allocator does not report it",
     [](const Source& s) { return Real(s.resources.allocated_bytes); }},
    {"fairlock_memory_max_bytes", MetricType::Gauge,
     "How much memory may be in use (max_memory); 0: unlimited",
     [](const Source& s) { return Real(s.server.availability.memory().bytes_max()); }},
    {"fairlock_short_of_memory", MetricType::Gauge,
     "1: more memory is in use than max_memory, so new locks, waits and subscriptions are refused",
     [](const Source& s) { return s.server.availability.memory().is_short() ? 1.0 : 0.0; }},
    {"fairlock_cpu_seconds_total", MetricType::Counter, "Processor time used, user and system",
     [](const Source& s) { return s.resources.user_cpu_seconds + s.resources.system_cpu_seconds; }},
});

// Returns one sample for each command whose count is not 0.
MetricFamily CommandFamily(const command::ServerParts& server, std::string_view name,
                           std::string_view help, std::uint64_t command::CommandCounts::*count) {
  MetricFamily family = Family(name, MetricType::Counter, help);
  const auto rows = server.table.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t value = server.statistics.commands.commands()[i].*count;
    if (value == 0) continue;
    AddSample(family, {{"command", command::Lowered(rows[i]->name)}}, Real(value));
  }
  return family;
}

MetricFamily ErrorFamily(const command::CommandStatistics& statistics) {
  MetricFamily family = Family("fairlock_error_replies_total", MetricType::Counter,
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
  MetricFamily family = Family("fairlock_build_info", MetricType::Gauge, "Always 1");
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

void AddLoopFamilies(std::vector<MetricFamily>& families, const Source& source) {
  families.push_back(
      Family("fairlock_turn_seconds", MetricType::Histogram,
             "Duration of event loop iterations, not counting time spent waiting for work"));
  AddHistogram(families.back(), {}, source.counters.turns_us, 1e6);
  families.push_back(Family("fairlock_expiry_lag_seconds", MetricType::Histogram,
                            "How late the event loop handled work that was due"));
  AddHistogram(families.back(), {}, source.counters.expiry_lag_ms, 1e3);
  const command::PersistenceReport& kept = source.persistence;
  families.push_back(SummaryFamily("fairlock_journal_commit_seconds",
                                   "Time from handing over a batch until its replies could be sent",
                                   kept.batches_timed, Real(kept.batches_ms) / 1e3));
  families.push_back(SummaryFamily("fairlock_journal_sync_seconds", "How long syncs took",
                                   kept.syncs, Real(kept.syncs_us) / 1e6));
}

// Adds the totals since the start, by label.
void AddTotals(std::vector<MetricFamily>& families, const record::LabelTotals& totals) {
  MetricFamily events = Family("fairlock_events_total", MetricType::Counter,
                               "What happened to locks, by their label");
  MetricFamily waits = Family("fairlock_wait_seconds", MetricType::Histogram,
                              "Wait times of those granted a lock after waiting");
  MetricFamily holds =
      Family("fairlock_hold_seconds", MetricType::Histogram, "Duration of holds that have ended");
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
  struct Figure {
    std::string_view name;
    std::string_view help;
    double (*value)(const LocksOfLabel&);
  };
  constexpr auto kFigures = std::to_array<Figure>({
      {"fairlock_oldest_wait_seconds", "How long the longest waiter has waited so far",
       [](const LocksOfLabel& l) { return Seconds(l.longest_wait_ms); }},
      {"fairlock_oldest_hold_seconds", "How long the oldest hold has lasted so far",
       [](const LocksOfLabel& l) { return Seconds(l.oldest_hold_ms); }},
      {"fairlock_label_holders", "Current holds, by the label of the lock's oldest hold",
       [](const LocksOfLabel& l) { return Real(l.holders); }},
      {"fairlock_label_waiters", "Current waiters, by the label of the lock's oldest hold",
       [](const LocksOfLabel& l) { return Real(l.waiters); }},
      {"fairlock_endless_locks",
       "Locks that currently have a hold with no expiry, by the label of the oldest hold",
       [](const LocksOfLabel& l) { return Real(l.endless_locks); }},
  });
  for (const Figure& figure : kFigures) {
    MetricFamily family = Family(figure.name, MetricType::Gauge, figure.help);
    for (std::size_t i = 0; i < survey.by_label().size(); ++i) {
      // Labels may have been dropped from the totals since the survey.
      if (totals != nullptr && i >= totals->all().size()) break;
      const std::string label = totals == nullptr ? "" : totals->all()[i]->label;
      AddSample(family, {{"label", label}}, figure.value(survey.by_label()[i]));
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
  const Source source{.server = server,
                      .counters = server.statistics.counters,
                      .locks = server.locks.engine().counts(),
                      .resources = server.environment.resources.Resources(),
                      .persistence = server.environment.ReportPersistence(),
                      .now = now};
  std::vector<MetricFamily> families;
  families.push_back(BuildFamily(server.environment.facts));
  for (const Metric& metric : kMetrics) {
    families.push_back(Family(metric.name, metric.type, metric.help));
    AddSample(families.back(), {}, metric.value(source));
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

}  // namespace fairlock::http
