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
#include <variant>
#include <vector>

#include "server/command/handlers/info_report.h"
#include "server/command/table/text.h"
#include "server/http/fleet_metrics.h"
#include "server/http/metric_families.h"

namespace fairlock::http {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

double Seconds(std::int64_t ms) { return Real(ms) / 1000; }

MetricFamily FigureFamily(const command::Figure& figure, const command::Readings& source) {
  const bool is_counter = figure.metric_name.ends_with("_total");
  MetricFamily family =
      Family(figure.metric_name, is_counter ? MetricType::Counter : MetricType::Gauge, figure.help);
  const command::FigureValue value = figure.value(source);
  const auto* whole = std::get_if<std::uint64_t>(&value);
  AddSample(family, {}, whole != nullptr ? Real(*whole) : std::get<double>(value));
  return family;
}

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

void AddLoopFamilies(std::vector<MetricFamily>& families, const command::Readings& source) {
  families.push_back(
      Family("fairlock_turn_seconds", MetricType::Histogram,
             "Duration of event loop iterations, not counting time spent waiting for work"));
  AddHistogram(families.back(), {}, source.server.statistics.counters.turns_us, 1e6);
  families.push_back(Family("fairlock_expiry_lag_seconds", MetricType::Histogram,
                            "How late the event loop handled work that was due"));
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

}  // namespace fairlock::http
