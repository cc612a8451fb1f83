#include "server/command/handlers/info_report.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <concepts>
#include <functional>

#include "server/command/environment/environment.h"
#include "server/command/handlers/replication.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

std::string Decimal(double value, int digits) {
  std::array<char, 64> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, digits);
  return {text.data(), end.ptr};
}

// Formats bytes as Redis does: "1.04M".
std::string Human(std::uint64_t bytes) {
  constexpr std::string_view kUnits = "KMGT";
  if (bytes < 1024) return std::to_string(bytes) + "B";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return Decimal(value, 2) + kUnits[unit];
}

double SecondsOf(engine::DurationMs duration_ms) { return static_cast<double>(duration_ms) / 1000; }

std::uint64_t UsedBytes(const Readings& source) {
  const ResourceUse& use = source.resources;
  return use.allocated_bytes != 0 ? use.allocated_bytes : use.resident_bytes;
}

double CpuSeconds(const Readings& source) {
  return source.resources.user_cpu_seconds + source.resources.system_cpu_seconds;
}

bool IsService(const Readings& source, Service service) {
  return source.server.availability.service() == service;
}

std::string_view RedisMode(const Readings& source) {
  return source.server.environment.IsCluster() ? "cluster" : "standalone";
}

const std::vector<engine::LimitOverride>& OverridesOf(const Readings& source) {
  return source.server.locks.engine().limits().Overrides(source.now).all();
}

// Returns the age of the oldest override that has no end; 0 if there is none.
engine::DurationMs OldestOverrideMs(const Readings& source) {
  engine::DurationMs oldest_ms = 0;
  for (const engine::LimitOverride& row : OverridesOf(source)) {
    // The metric serves to find overrides that an operator has forgotten, so an override that ends
    // by itself does not count.
    if (row.end == engine::kNever) oldest_ms = std::max(oldest_ms, source.now - row.since);
  }
  return oldest_ms;
}

template <typename Value>
FigureValue AsFigure(const Value& value) {
  if constexpr (std::integral<Value>) {
    return static_cast<std::uint64_t>(value);
  } else if constexpr (std::floating_point<Value>) {
    return value;
  } else {
    return std::string(value);
  }
}

template <typename Part, typename Member>
FigureValue MemberOf(const Readings& source, Member Part::*member) {
  const Part* part = std::get<const Part*>(source.parts);
  return part == nullptr ? FigureValue() : AsFigure(std::invoke(member, *part));
}

// Reads a member of one of the parts of the source; 0 if there is no such part.
template <auto kMember>
FigureValue Of(const Readings& source) {
  return MemberOf(source, kMember);
}

constexpr auto kFigures = std::to_array<Figure>({
    {"", [](const Readings& s) { return AsFigure(SecondsOf(s.now - s.server.started_at)); },
     "fairlock_uptime_seconds", "How long the server has been running"},
    {"locks", Of<&engine::EngineCounts::locks>, "fairlock_locks",
     "Keys that are held or waited for"},
    {"holders", Of<&engine::EngineCounts::holds>, "fairlock_holders", "Holds on all locks"},
    {"waiters", [](const Readings& s) { return AsFigure(s.locks().places - s.locks().skipped); },
     "fairlock_waiters", "Places in queues whose owners are waiting, or are expected to come back"},
    {"", Of<&engine::EngineCounts::skipped>, "fairlock_places_passed_over",
     "Places in queues that delay nobody: the connection is lost, or SET NX was denied "
     "once"},
    {"", Of<&engine::EngineCounts::cooldowns>, "fairlock_cooling_rooms",
     "Slots that MINHOLD keeps from being granted"},
    {"", Of<&values::ValueStore::size>, "fairlock_values", "Hashes, lists, sets and sorted sets"},
    {"granted", Of<&engine::EngineCounts::granted>, "fairlock_grants_total", "Locks granted"},
    {"granted_after_wait", Of<&engine::EngineCounts::granted_after_wait>,
     "fairlock_grants_after_wait_total", "Locks granted to those who waited"},
    {"denied", Of<&engine::EngineCounts::denied>, "fairlock_denials_total",
     "Requests answered with nil immediately"},
    {"timed_out", Of<&engine::EngineCounts::timed_out>, "fairlock_wait_timeouts_total",
     "Waits that ended without a grant"},
    {"released", Of<&engine::EngineCounts::released>, "fairlock_releases_total",
     "Holds ended by their owners"},
    {"expired", Of<&engine::EngineCounts::expired>, "fairlock_expirations_total",
     "Holds ended because their lease expired"},
    {"", Of<&engine::EngineCounts::disconnected>, "fairlock_session_ends_total",
     "Holds ended because their connection was gone"},
    {"broken",
     [](const Readings& s) {
       return AsFigure(s.locks().broken + s.server.statistics.broken_in_values);
     },
     "fairlock_breaks_total", "Holds ended by force"},
    {"history_file_written", Of<&record::EventTap::written>, "fairlock_history_file_events_total",
     "Events written to history_file"},
    {"history_file_dropped", Of<&record::EventTap::dropped>, "fairlock_history_file_dropped_total",
     "Events missing from history_file, because its disk was slow, full or broken"},
    {"newest_token", Of<&engine::EngineCounts::newest_token>, "fairlock_newest_token",
     "The fencing token of the newest grant"},
    {"limit_overrides", [](const Readings& s) { return AsFigure(OverridesOf(s).size()); },
     "fairlock_limit_overrides", "LIMIT overrides in force"},
    {"", [](const Readings& s) { return AsFigure(SecondsOf(OldestOverrideMs(s))); },
     "fairlock_limit_override_oldest_seconds",
     "Age of the oldest LIMIT override that has no end; 0: there is none"},
    {"",
     [](const Readings& s) {
       return AsFigure(s.server.clients.size() - s.server.statistics.gauges.http_clients);
     },
     "fairlock_connections", "Connected clients, not counting those over HTTP"},
    {"", Of<&ServerGauges::http_clients>, "fairlock_http_connections", "Connections over HTTP"},
    {"maxclients", Of<&ServerFacts::connections_max>, "fairlock_connections_max",
     "How many clients may be connected"},
    {"total_connections_received", Of<&ServerCounters::connections_received>,
     "fairlock_connections_received_total", "Connections accepted"},
    {"rejected_connections", Of<&ServerCounters::connections_rejected>,
     "fairlock_connections_rejected_total",
     "Connections refused (over HTTP: closed) because there were too many"},
    {"rejected_connections_per_address", Of<&ServerCounters::rejected_by_address>,
     "fairlock_connections_rejected_by_address_total",
     "Of these, the connections refused only because their own address had too many"},
    {"unauthenticated_clients", Of<&Newcomers::size>, "fairlock_connections_unauthenticated",
     "Connected clients that must log in and have not"},
    {"unauthenticated_disconnections", Of<&ServerCounters::closed_without_log_in>,
     "fairlock_connections_closed_unauthenticated_total",
     "Connections closed because they had not logged in"},
    {"client_output_buffer_limit_disconnections", Of<&ServerCounters::closed_over_output_limit>,
     "fairlock_connections_over_output_limit_total",
     "Connections closed because they did not read their replies"},
    {"request_deadline_disconnections", Of<&ServerCounters::closed_over_request_deadline>,
     "fairlock_connections_over_request_deadline_total",
     "Connections closed because they did not send the rest of a request"},
    {"used_memory_unread_replies", Of<&ServerGauges::unread_reply_bytes>,
     "fairlock_unread_reply_bytes", "Memory for replies that clients have not read yet"},
    {"used_memory_unexecuted_requests", Of<&ServerGauges::unexecuted_input_bytes>,
     "fairlock_unexecuted_request_bytes",
     "Memory for what was received and could not be executed yet"},
    {"client_query_buffer_limit_disconnections", Of<&ServerCounters::closed_over_input_limit>,
     "fairlock_connections_over_input_limit_total",
     "Connections closed because they sent too much that could not be executed yet"},
    {"total_net_input_bytes", Of<&ServerCounters::input_bytes>, "fairlock_input_bytes_total",
     "Bytes received from clients"},
    {"total_net_output_bytes", Of<&ServerCounters::output_bytes>, "fairlock_output_bytes_total",
     "Bytes sent to clients"},
    {"protocol_errors", Of<&ServerCounters::protocol_errors>, "fairlock_protocol_errors_total",
     "Connections closed because they sent bytes that are not a request"},
    {"acl_access_denied_auth", Of<&ServerCounters::failed_log_ins>, "fairlock_failed_log_ins_total",
     "Log-ins with a wrong password, or as a disabled or unknown user"},
    {"acl_access_denied_cmd", Of<&ServerCounters::denied_requests>,
     "fairlock_denied_requests_total", "Requests refused because their user may not make them"},
    {"turns", Of<&ServerCounters::turns>, "fairlock_turns_total", "Iterations of the event loop"},
    {"", Of<&Availability::takes_locks>, "fairlock_ready", "1: locks can be taken"},
    {"storage_failed", Of<&PersistenceReport::has_failed>, "fairlock_storage_failed",
     "1: the disk has failed, so no changes are accepted"},
    {"short_of_disk",
     [](const Readings& s) { return AsFigure(IsService(s, Service::kShortOfSpace)); },
     "fairlock_storage_short_of_space",
     "1: free disk space is below min_free_disk (in a fleet: less than a fifth of etcd's "
     "quota is left), so no new locks are granted"},
    {"free_disk_bytes", Of<&PersistenceReport::free_disk_bytes>, "fairlock_storage_free_bytes",
     "Free space on the disk with the data; 0: no data is stored"},
    {"journal_newest_batch", Of<&PersistenceReport::newest_batch>, "fairlock_journal_batches_total",
     "Batches handed to the journal"},
    {"journal_waiting_bytes", Of<&PersistenceReport::waiting_bytes>,
     "fairlock_journal_waiting_bytes", "Bytes handed to the journal but not yet written"},
    {"", [](const Readings& s) { return AsFigure(SecondsOf(s.persistence.journal_lag_ms)); },
     "fairlock_journal_lag_seconds", "How long replies have been waiting for the disk so far"},
    {"used_memory_rss", Of<&ResourceUse::resident_bytes>, "fairlock_resident_memory_bytes",
     "Memory used by the process"},
    {"", Of<&ResourceUse::allocated_bytes>, "fairlock_allocated_memory_bytes",
     "Memory in use; 0: the allocator does not report it"},
    {"maxmemory", Of<&MemoryBound::bytes_max>, "fairlock_memory_max_bytes",
     "How much memory may be in use (max_memory); 0: unlimited"},
    {"short_of_memory", Of<&MemoryBound::is_short>, "fairlock_short_of_memory",
     "1: more memory is in use than max_memory, so new locks, waits and subscriptions are "
     "refused"},
    {"", [](const Readings& s) { return AsFigure(CpuSeconds(s)); }, "fairlock_cpu_seconds_total",
     "Processor time used, user and system"},
    {"redis_version", [](const Readings&) { return AsFigure(kRedisVersion); }},
    {"fairlock_version", Of<&ServerFacts::version>},
    {"redis_mode", [](const Readings& s) { return AsFigure(RedisMode(s)); }},
    {"os", Of<&ServerFacts::operating_system>},
    {"arch_bits", [](const Readings&) { return AsFigure(sizeof(void*) * 8); }},
    {"multiplexing_api", [](const Readings&) { return AsFigure("epoll"); }},
    {"process_id", Of<&ServerFacts::process_id>},
    {"run_id", Of<&ServerFacts::run_id>},
    {"tcp_port", Of<&ServerFacts::tcp_port>},
    {"server_time_usec", Of<&Clock::UnixTimeUs>},
    {"uptime_in_seconds",
     [](const Readings& s) { return AsFigure((s.now - s.server.started_at) / 1000); }},
    {"uptime_in_days",
     [](const Readings& s) { return AsFigure((s.now - s.server.started_at) / 86'400'000); }},
    {"executable", Of<&ServerFacts::executable>},
    {"config_file", Of<&ServerFacts::config_file>},
    {"connected_clients", Of<&ClientRegistry::size>},
    {"blocked_clients", Of<&ServerGauges::waiting_clients>},
    {"used_memory", [](const Readings& s) { return AsFigure(UsedBytes(s)); }},
    {"used_memory_human", [](const Readings& s) { return AsFigure(Human(UsedBytes(s))); }},
    {"used_memory_rss_human",
     [](const Readings& s) { return AsFigure(Human(s.resources.resident_bytes)); }},
    {"history_memory", Of<&record::History::used_bytes>},
    {"history_memory_max", Of<&record::History::bytes>},
    {"history_events", Of<&record::History::event_count>},
    {"stats_memory", Of<&record::LabelStatistics::memory_bytes>},
    {"stats_labels", Of<&record::LabelStatistics::label_count>},
    {"used_memory_scripts", Of<&script::Interpreter::memory_bytes>},
    {"number_of_cached_scripts", Of<&script::Interpreter::script_count>},
    {"maxmemory_policy", [](const Readings&) { return AsFigure("noeviction"); }},
    {"maxmemory_human",
     [](const Readings& s) { return AsFigure(Human(s.server.availability.memory().bytes_max())); }},
    {"loading", [](const Readings& s) { return AsFigure(IsService(s, Service::kLoading)); }},
    {"rdb_bgsave_in_progress", Of<&PersistenceReport::is_snapshot_under_way>},
    {"aof_enabled", [](const Readings& s) { return AsFigure(s.persistence.durability != "none"); }},
    {"durability", Of<&PersistenceReport::durability>},
    {"may_have_lost_leases", Of<&PersistenceReport::may_have_lost_leases>},
    {"rows_loaded", Of<&PersistenceReport::rows_loaded>},
    {"journal_completed_batch", Of<&PersistenceReport::completed_batch>},
    {"journal_durable_batch", Of<&PersistenceReport::durable_batch>},
    {"snapshots", Of<&PersistenceReport::snapshot>},
    {"total_commands_processed", Of<&ServerCounters::commands_processed>},
    {"expired_keys", Of<&engine::EngineCounts::expired>},
    {"evicted_keys", [](const Readings&) { return AsFigure(0); }},
    {"pubsub_channels",
     [](const Readings& s) { return AsFigure(s.server.channels.CountNames(ChannelKind::kExact)); }},
    {"pubsub_patterns",
     [](const Readings&
            s) { return AsFigure(s.server.channels.CountNames(ChannelKind::kPattern)); }},
    {"pubsubshard_channels",
     [](const Readings& s) { return AsFigure(s.server.channels.CountNames(ChannelKind::kShard)); }},
    {"total_error_replies", Of<&CommandStatistics::all_errors>},
    {"used_cpu_sys", Of<&ResourceUse::system_cpu_seconds>},
    {"used_cpu_user", Of<&ResourceUse::user_cpu_seconds>},
    {"watchers", Of<&engine::EngineCounts::watchers>},
    {"cluster_enabled", Of<&Environment::IsCluster>},
});

// The figures of a section, up to the first null.
using FigureList = std::array<const Figure*, 24>;

// Returns the figures with these names, separated by spaces. It does not compile if there is none
// with one of them.
consteval FigureList Named(std::string_view names) {
  FigureList figures{};
  for (std::size_t i = 0; !names.empty(); ++i) {
    const std::size_t end = std::min(names.find(' '), names.size());
    figures.at(i) = std::ranges::find(kFigures, names.substr(0, end), &Figure::info_name);
    assert(figures.at(i) != kFigures.end());
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return figures;
}

struct ReportReadings : Readings {
  bool shows_patterns;
};

void AddLine(std::string& report, std::string_view name, std::string_view value) {
  report.append(name).append(":").append(value).append("\r\n");
}

std::string TextOf(const FigureValue& value) {
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value)) return Decimal(*real, 6);
  return std::get<std::string>(value);
}

// The following functions add sections whose lines are not fixed in advance.

void AddOverrides(std::string& report, const ReportReadings& source) {
  if (!source.shows_patterns) return;
  const auto& rows = OverridesOf(source);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string text = "pattern=" + Quoted(rows[i].pattern);
    text.append(",db=").append(std::to_string(rows[i].db));
    text.append(",limit=").append(std::to_string(rows[i].limit));
    if (rows[i].end < engine::kNever) {
      text.append(",left_ms=").append(std::to_string(rows[i].end - source.now));
    }
    AddLine(report, "limit_override" + std::to_string(i), text);
  }
}

void AddReplication(std::string& report, const ReportReadings& source) {
  report += ReplicationLines(source.server.environment.fleet);
}

void AddFleet(std::string& report, const ReportReadings& source) {
  report += FleetLines(source.server.environment.fleet);
}

// The fields are exactly those of Redis, because exporters parse whole lines.
void AddCommands(std::string& report, const ReportReadings& source) {
  const auto rows = source.server.table.rows();
  const CommandStatistics& statistics = source.server.statistics.commands;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CommandCounts& counts = statistics.commands()[i];
    if (counts.calls == 0 && counts.rejected == 0) continue;
    const std::uint64_t usec = statistics.UsecOf(counts);
    const double calls = static_cast<double>(std::max<std::uint64_t>(counts.calls, 1));
    std::string fields = "calls=" + std::to_string(counts.calls);
    fields.append(",usec=").append(std::to_string(usec));
    fields.append(",usec_per_call=").append(Decimal(static_cast<double>(usec) / calls, 2));
    fields.append(",rejected_calls=").append(std::to_string(counts.rejected));
    fields.append(",failed_calls=").append(std::to_string(counts.failed));
    AddLine(report, "cmdstat_" + Lowered(rows[i]->name), fields);
  }
}

void AddErrors(std::string& report, const ReportReadings& source) {
  for (const auto& [word, count] : source.server.statistics.commands.errors()) {
    AddLine(report, "errorstat_" + word, "count=" + std::to_string(count));
  }
}

void AddDatabases(std::string& report, const ReportReadings& source) {
  for (std::uint32_t db = 0; db < engine::kDatabases; ++db) {
    const auto number = static_cast<std::uint8_t>(db);
    const std::uint64_t keys = source.server.locks.engine().CountLocks(number) +
                               source.server.values.store().Count(number);
    if (keys == 0) continue;
    const std::string count = std::to_string(keys);
    // Reports every key as having an expiry. The average TTL is not tracked, so it is shown as 0.
    std::string counts = "keys=" + count;
    counts.append(",expires=").append(count).append(",avg_ttl=0");
    AddLine(report, "db" + std::to_string(db), counts);
  }
}

struct Section {
  std::string_view title;
  bool is_shown_unasked;
  FigureList figures;
  void (*add_lines)(std::string&, const ReportReadings&) = nullptr;
};

constexpr auto kSections = std::to_array<Section>({
    {"Server", true,
     Named("redis_version fairlock_version redis_mode os arch_bits multiplexing_api "
           "process_id run_id tcp_port server_time_usec uptime_in_seconds uptime_in_days "
           "executable config_file")},
    {"Clients", true,
     Named("connected_clients maxclients blocked_clients unauthenticated_clients")},
    {"Memory", true,
     Named("used_memory used_memory_human used_memory_rss used_memory_rss_human "
           "history_memory history_memory_max history_events history_file_written "
           "history_file_dropped stats_memory stats_labels used_memory_scripts "
           "number_of_cached_scripts used_memory_unread_replies "
           "used_memory_unexecuted_requests maxmemory maxmemory_policy maxmemory_human "
           "short_of_memory")},
    {"Persistence", true,
     Named("loading rdb_bgsave_in_progress aof_enabled durability storage_failed "
           "short_of_disk may_have_lost_leases rows_loaded journal_newest_batch "
           "journal_completed_batch journal_durable_batch journal_waiting_bytes snapshots "
           "free_disk_bytes")},
    {"Stats", true,
     Named("total_connections_received total_commands_processed total_net_input_bytes "
           "total_net_output_bytes rejected_connections rejected_connections_per_address "
           "unauthenticated_disconnections client_output_buffer_limit_disconnections "
           "client_query_buffer_limit_disconnections request_deadline_disconnections "
           "acl_access_denied_auth acl_access_denied_cmd expired_keys evicted_keys "
           "pubsub_channels pubsub_patterns pubsubshard_channels total_error_replies "
           "protocol_errors turns")},
    {"Replication", true, {}, AddReplication},
    {"CPU", true, Named("used_cpu_sys used_cpu_user")},
    {"Locks", true,
     Named("locks holders waiters watchers granted granted_after_wait denied released expired "
           "broken timed_out newest_token limit_overrides"),
     AddOverrides},
    {"Commandstats", false, {}, AddCommands},
    {"Errorstats", true, {}, AddErrors},
    {"Cluster", true, Named("cluster_enabled"), AddFleet},
    {"Keyspace", true, {}, AddDatabases},
});

bool IsAskedFor(const Section& section, std::span<const std::string_view> asked) {
  if (asked.empty()) return section.is_shown_unasked;
  return std::any_of(asked.begin(), asked.end(), [&](std::string_view name) {
    return EqualsIgnoreCase(name, section.title) || EqualsIgnoreCase(name, "all") ||
           EqualsIgnoreCase(name, "everything") ||
           (EqualsIgnoreCase(name, "default") && section.is_shown_unasked);
  });
}

}  // namespace

Readings::Readings(ServerParts& with_parts, engine::TimeMs time)
    : server(with_parts),
      resources(server.environment.resources.Resources()),
      persistence(server.environment.ReportPersistence()),
      now(time),
      parts(&server.locks.engine().counts(), &server.environment, &server.environment.facts,
            &server.environment.clock, &resources, &persistence, &server.availability,
            &server.availability.memory(), &server.statistics.counters, &server.statistics.gauges,
            &server.statistics.commands, &server.clients, &server.newcomers, &server.values.store(),
            &server.scripts.interpreter(), server.recorder.tap(), server.recorder.history(),
            server.recorder.statistics()) {}

std::span<const Figure> AllFigures() { return kFigures; }

std::string InfoReport(std::span<const std::string_view> sections, ServerParts& server,
                       bool shows_patterns, engine::TimeMs now) {
  const ReportReadings source{{server, now}, shows_patterns};
  std::string report;
  for (const Section& section : kSections) {
    if (!IsAskedFor(section, sections)) continue;
    if (!report.empty()) report += "\r\n";
    report.append("# ").append(section.title).append("\r\n");
    for (const Figure* figure : section.figures) {
      if (figure != nullptr) AddLine(report, figure->info_name, TextOf(figure->value(source)));
    }
    if (section.add_lines != nullptr) section.add_lines(report, source);
  }
  return report;
}

}  // namespace fairlock::command
