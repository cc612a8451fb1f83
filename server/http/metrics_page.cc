#include "server/http/metrics_page.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "server/command/text.h"

namespace fairlock::http {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

struct Source {
  command::Dispatcher& dispatcher;
  const command::ServerCounters& counters;
  const engine::EngineCounts& locks;
  const command::ResourceUse resources;
  const engine::TimeMs now;
};

// One figure without labels.
struct Metric {
  std::string_view name;
  MetricType type;
  std::string_view help;
  double (*value)(const Source&);
};

template <typename Number>
double Real(Number value) {
  return static_cast<double>(value);
}

constexpr auto kMetrics = std::to_array<Metric>({
    {"fairlock_uptime_seconds", MetricType::Gauge, "How long the server has been running",
     [](const Source& s) { return Real(s.now - s.dispatcher.started_at()) / 1000; }},
    {"fairlock_locks", MetricType::Gauge, "Keys that are held or waited for",
     [](const Source& s) { return Real(s.locks.locks); }},
    {"fairlock_holders", MetricType::Gauge, "Holds of all locks",
     [](const Source& s) { return Real(s.locks.holds); }},
    {"fairlock_waiters", MetricType::Gauge, "Places in line whose owners wait or are awaited",
     [](const Source& s) { return Real(s.locks.places - s.locks.passed_over); }},
    {"fairlock_places_passed_over", MetricType::Gauge,
     "Places in line whose owners lost their connection",
     [](const Source& s) { return Real(s.locks.passed_over); }},
    {"fairlock_cooling_rooms", MetricType::Gauge, "Rooms that MINHOLD keeps from being granted",
     [](const Source& s) { return Real(s.locks.cooling); }},
    {"fairlock_grants_total", MetricType::Counter, "Locks granted",
     [](const Source& s) { return Real(s.locks.granted); }},
    {"fairlock_grants_after_wait_total", MetricType::Counter, "Locks granted to those who waited",
     [](const Source& s) { return Real(s.locks.granted_after_wait); }},
    {"fairlock_denials_total", MetricType::Counter, "Requests answered nil at once",
     [](const Source& s) { return Real(s.locks.denied); }},
    {"fairlock_wait_timeouts_total", MetricType::Counter, "Waits that ended without a grant",
     [](const Source& s) { return Real(s.locks.timed_out); }},
    {"fairlock_releases_total", MetricType::Counter, "Holds ended by their owners",
     [](const Source& s) { return Real(s.locks.released); }},
    {"fairlock_expirations_total", MetricType::Counter, "Holds ended because their lease was over",
     [](const Source& s) { return Real(s.locks.expired); }},
    {"fairlock_session_ends_total", MetricType::Counter,
     "Holds ended because their connection was gone",
     [](const Source& s) { return Real(s.locks.disconnected); }},
    {"fairlock_breaks_total", MetricType::Counter, "Holds ended by force",
     [](const Source& s) { return Real(s.locks.broken); }},
    {"fairlock_newest_token", MetricType::Gauge, "The fencing token of the newest grant",
     [](const Source& s) { return Real(s.locks.newest_token); }},
    {"fairlock_limit_overrides", MetricType::Gauge, "Overrides of LIMIT in force",
     [](const Source& s) { return Real(s.dispatcher.engine().Limits(s.now).all().size()); }},
    {"fairlock_connections", MetricType::Gauge, "Connected clients",
     [](const Source& s) { return Real(s.dispatcher.clients().size()); }},
    {"fairlock_connections_max", MetricType::Gauge, "How many clients may be connected",
     [](const Source& s) { return Real(s.dispatcher.environment().Facts().connections_max); }},
    {"fairlock_connections_received_total", MetricType::Counter, "Connections accepted",
     [](const Source& s) { return Real(s.counters.connections_received); }},
    {"fairlock_connections_rejected_total", MetricType::Counter,
     "Connections refused because there were too many",
     [](const Source& s) { return Real(s.counters.connections_rejected); }},
    {"fairlock_connections_over_output_limit_total", MetricType::Counter,
     "Connections closed because they did not read",
     [](const Source& s) { return Real(s.counters.closed_over_output_limit); }},
    {"fairlock_input_bytes_total", MetricType::Counter, "Bytes received from clients",
     [](const Source& s) { return Real(s.counters.input_bytes); }},
    {"fairlock_output_bytes_total", MetricType::Counter, "Bytes sent to clients",
     [](const Source& s) { return Real(s.counters.output_bytes); }},
    {"fairlock_error_replies_total", MetricType::Counter, "Requests answered by an error",
     [](const Source& s) { return Real(s.counters.errors_replied); }},
    {"fairlock_protocol_errors_total", MetricType::Counter,
     "Connections closed for bytes that are "
     "no request",
     [](const Source& s) { return Real(s.counters.protocol_errors); }},
    {"fairlock_turns_total", MetricType::Counter, "Rounds of the loop",
     [](const Source& s) { return Real(s.counters.turns); }},
    {"fairlock_resident_memory_bytes", MetricType::Gauge, "Memory that the process occupies",
     [](const Source& s) { return Real(s.resources.resident_bytes); }},
    {"fairlock_cpu_seconds_total", MetricType::Counter, "Processor time used, user and system",
     [](const Source& s) { return s.resources.user_cpu_seconds + s.resources.system_cpu_seconds; }},
});

ClientMetric Sample(MetricType type, double value) {
  ClientMetric sample;
  (type == MetricType::Counter ? sample.counter.value : sample.gauge.value) = value;
  return sample;
}

MetricFamily Family(std::string_view name, MetricType type, std::string_view help) {
  return {.name = std::string(name), .help = std::string(help), .type = type, .metric = {}};
}

MetricFamily CommandsFamily(const command::Dispatcher& dispatcher) {
  MetricFamily family =
      Family("fairlock_commands_total", MetricType::Counter, "Requests executed, by command");
  const auto rows = dispatcher.commands().rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (dispatcher.calls()[i] == 0) continue;
    ClientMetric sample = Sample(MetricType::Counter, Real(dispatcher.calls()[i]));
    sample.label.push_back({"command", command::Lowered(rows[i]->name)});
    family.metric.push_back(std::move(sample));
  }
  return family;
}

MetricFamily BuildFamily(const command::ServerFacts& facts) {
  MetricFamily family = Family("fairlock_build_info", MetricType::Gauge, "Always 1");
  family.metric.push_back(Sample(MetricType::Gauge, 1));
  family.metric.back().label.push_back({"version", facts.version});
  return family;
}

}  // namespace

std::string MetricsPage(command::Dispatcher& dispatcher, engine::TimeMs now) {
  const Source source{.dispatcher = dispatcher,
                      .counters = dispatcher.counters(),
                      .locks = dispatcher.engine().counts(),
                      .resources = dispatcher.environment().Resources(),
                      .now = now};
  std::vector<MetricFamily> families;
  families.reserve(kMetrics.size() + 2);
  families.push_back(BuildFamily(dispatcher.environment().Facts()));
  for (const Metric& metric : kMetrics) {
    families.push_back(Family(metric.name, metric.type, metric.help));
    families.back().metric.push_back(Sample(metric.type, metric.value(source)));
  }
  families.push_back(CommandsFamily(dispatcher));
  std::ostringstream page;
  prometheus::TextSerializer().Serialize(page, families);
  return std::move(page).str();
}

}  // namespace fairlock::http
