#include "server/command/handlers/info_report.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "server/command/handlers/replication.h"
#include "server/command/table/redis_version.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

struct Source {
  ServerParts& server;
  const ServerFacts& facts;
  const ServerCounters& counters;
  const engine::EngineCounts& locks;
  const ResourceUse resources;
  const PersistenceReport persistence;
  const std::int64_t unix_us;
  const std::int64_t uptime_s;
  const bool shows_patterns;
  const engine::TimeMs now;
};

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

std::uint64_t UsedBytes(const Source& source) {
  const ResourceUse& use = source.resources;
  return use.allocated_bytes != 0 ? use.allocated_bytes : use.resident_bytes;
}

std::uint64_t MemoryMax(const Source& source) {
  return source.server.availability.memory().bytes_max();
}

std::string OneIf(bool is_so) { return is_so ? "1" : "0"; }

struct Field {
  std::string_view name;
  std::string (*value)(const Source&);
};

constexpr auto kServerFields = std::to_array<Field>({
    {"redis_version", [](const Source&) { return std::string(kRedisVersion); }},
    {"fairlock_version", [](const Source& s) { return s.facts.version; }},
    {"redis_mode",
     [](const Source& s) {
       return std::string(s.server.environment.IsCluster() ? "cluster" : "standalone");
     }},
    {"os", [](const Source& s) { return s.facts.operating_system; }},
    {"arch_bits", [](const Source&) { return std::to_string(sizeof(void*) * 8); }},
    {"multiplexing_api", [](const Source&) { return std::string("epoll"); }},
    {"process_id", [](const Source& s) { return std::to_string(s.facts.process_id); }},
    {"run_id", [](const Source& s) { return s.facts.run_id; }},
    {"tcp_port", [](const Source& s) { return std::to_string(s.facts.tcp_port); }},
    {"server_time_usec", [](const Source& s) { return std::to_string(s.unix_us); }},
    {"uptime_in_seconds", [](const Source& s) { return std::to_string(s.uptime_s); }},
    {"uptime_in_days", [](const Source& s) { return std::to_string(s.uptime_s / 86'400); }},
    {"executable", [](const Source& s) { return s.facts.executable; }},
    {"config_file", [](const Source& s) { return s.facts.config_file; }},
});

constexpr auto kClientsFields = std::to_array<Field>({
    {"connected_clients", [](const Source& s) { return std::to_string(s.server.clients.size()); }},
    {"maxclients", [](const Source& s) { return std::to_string(s.facts.connections_max); }},
    {"blocked_clients",
     [](const Source& s) { return std::to_string(s.server.statistics.gauges.waiting_clients); }},
    {"unauthenticated_clients",
     [](const Source& s) { return std::to_string(s.server.newcomers.size()); }},
});

constexpr auto kMemoryFields = std::to_array<Field>({
    {"used_memory", [](const Source& s) { return std::to_string(UsedBytes(s)); }},
    {"used_memory_human", [](const Source& s) { return Human(UsedBytes(s)); }},
    {"used_memory_rss", [](const Source& s) { return std::to_string(s.resources.resident_bytes); }},
    {"used_memory_rss_human", [](const Source& s) { return Human(s.resources.resident_bytes); }},
    {"history_memory",
     [](const Source& s) {
       const record::History* history = s.server.recorder.history();
       return std::to_string(history == nullptr ? 0 : history->used_bytes());
     }},
    {"history_memory_max",
     [](const Source& s) {
       const record::History* history = s.server.recorder.history();
       return std::to_string(history == nullptr ? 0 : history->bytes());
     }},
    {"history_events",
     [](const Source& s) {
       const record::History* history = s.server.recorder.history();
       return std::to_string(history == nullptr ? 0 : history->event_count());
     }},
    {"history_file_written",
     [](const Source& s) {
       const record::EventTap* tap = s.server.recorder.tap();
       return std::to_string(tap == nullptr ? 0 : tap->written());
     }},
    {"history_file_dropped",
     [](const Source& s) {
       const record::EventTap* tap = s.server.recorder.tap();
       return std::to_string(tap == nullptr ? 0 : tap->dropped());
     }},
    {"stats_memory",
     [](const Source& s) {
       const record::LabelStatistics* statistics = s.server.recorder.statistics();
       return std::to_string(statistics == nullptr ? 0 : statistics->memory_bytes());
     }},
    {"stats_labels",
     [](const Source& s) {
       const record::LabelStatistics* statistics = s.server.recorder.statistics();
       return std::to_string(statistics == nullptr ? 0 : statistics->label_count());
     }},
    {"used_memory_scripts",
     [](const Source& s) { return std::to_string(s.server.scripts.interpreter().memory_bytes()); }},
    {"number_of_cached_scripts",
     [](const Source& s) { return std::to_string(s.server.scripts.interpreter().script_count()); }},
    {"used_memory_unread_replies",
     [](const Source& s) { return std::to_string(s.server.statistics.gauges.unread_reply_bytes); }},
    {"used_memory_unexecuted_requests",
     [](const Source& s) {
       return std::to_string(s.server.statistics.gauges.unexecuted_input_bytes);
     }},
    {"maxmemory", [](const Source& s) { return std::to_string(MemoryMax(s)); }},
    {"maxmemory_policy", [](const Source&) { return std::string("noeviction"); }},
    {"maxmemory_human", [](const Source& s) { return Human(MemoryMax(s)); }},
    {"short_of_memory",
     [](const Source& s) { return OneIf(s.server.availability.memory().is_short()); }},
});

constexpr auto kPersistenceFields = std::to_array<Field>({
    {"loading",
     [](const Source& s) { return OneIf(s.server.availability.service() == Service::kLoading); }},
    {"rdb_bgsave_in_progress",
     [](const Source& s) { return OneIf(s.persistence.is_snapshot_under_way); }},
    {"aof_enabled", [](const Source& s) { return OneIf(s.persistence.durability != "none"); }},
    {"durability", [](const Source& s) { return s.persistence.durability; }},
    {"storage_failed", [](const Source& s) { return OneIf(s.persistence.has_failed); }},
    {"short_of_disk",
     [](const Source& s) {
       return OneIf(s.server.availability.service() == Service::kShortOfSpace);
     }},
    {"may_have_lost_leases",
     [](const Source& s) { return OneIf(s.persistence.may_have_lost_leases); }},
    {"rows_loaded", [](const Source& s) { return std::to_string(s.persistence.rows_loaded); }},
    {"journal_newest_batch",
     [](const Source& s) { return std::to_string(s.persistence.newest_batch); }},
    {"journal_completed_batch",
     [](const Source& s) { return std::to_string(s.persistence.completed_batch); }},
    {"journal_durable_batch",
     [](const Source& s) { return std::to_string(s.persistence.durable_batch); }},
    {"journal_waiting_bytes",
     [](const Source& s) { return std::to_string(s.persistence.waiting_bytes); }},
    {"snapshots", [](const Source& s) { return std::to_string(s.persistence.snapshot); }},
    {"free_disk_bytes",
     [](const Source& s) { return std::to_string(s.persistence.free_disk_bytes); }},
});

constexpr auto kStatsFields = std::to_array<Field>({
    {"total_connections_received",
     [](const Source& s) { return std::to_string(s.counters.connections_received); }},
    {"total_commands_processed",
     [](const Source& s) { return std::to_string(s.counters.commands_processed); }},
    {"total_net_input_bytes",
     [](const Source& s) { return std::to_string(s.counters.input_bytes); }},
    {"total_net_output_bytes",
     [](const Source& s) { return std::to_string(s.counters.output_bytes); }},
    {"rejected_connections",
     [](const Source& s) { return std::to_string(s.counters.connections_rejected); }},
    {"rejected_connections_per_address",
     [](const Source& s) { return std::to_string(s.counters.rejected_by_address); }},
    {"unauthenticated_disconnections",
     [](const Source& s) { return std::to_string(s.counters.closed_without_log_in); }},
    {"client_output_buffer_limit_disconnections",
     [](const Source& s) { return std::to_string(s.counters.closed_over_output_limit); }},
    {"client_query_buffer_limit_disconnections",
     [](const Source& s) { return std::to_string(s.counters.closed_over_input_limit); }},
    {"request_deadline_disconnections",
     [](const Source& s) { return std::to_string(s.counters.closed_over_request_deadline); }},
    {"acl_access_denied_auth",
     [](const Source& s) { return std::to_string(s.counters.failed_log_ins); }},
    {"acl_access_denied_cmd",
     [](const Source& s) { return std::to_string(s.counters.denied_requests); }},
    {"expired_keys", [](const Source& s) { return std::to_string(s.locks.expired); }},
    {"evicted_keys", [](const Source&) { return std::string("0"); }},
    {"pubsub_channels",
     [](const Source& s) {
       return std::to_string(s.server.channels.CountNames(ChannelKind::kExact));
     }},
    {"pubsub_patterns",
     [](const Source& s) {
       return std::to_string(s.server.channels.CountNames(ChannelKind::kPattern));
     }},
    {"pubsubshard_channels",
     [](const Source& s) {
       return std::to_string(s.server.channels.CountNames(ChannelKind::kShard));
     }},
    {"total_error_replies",
     [](const Source& s) { return std::to_string(s.server.statistics.commands.all_errors()); }},
    {"protocol_errors", [](const Source& s) { return std::to_string(s.counters.protocol_errors); }},
    {"turns", [](const Source& s) { return std::to_string(s.counters.turns); }},
});

constexpr auto kCpuFields = std::to_array<Field>({
    {"used_cpu_sys", [](const Source& s) { return Decimal(s.resources.system_cpu_seconds, 6); }},
    {"used_cpu_user", [](const Source& s) { return Decimal(s.resources.user_cpu_seconds, 6); }},
});

constexpr auto kLocksFields = std::to_array<Field>({
    {"locks", [](const Source& s) { return std::to_string(s.locks.locks); }},
    {"holders", [](const Source& s) { return std::to_string(s.locks.holds); }},
    {"waiters", [](const Source& s) { return std::to_string(s.locks.places - s.locks.skipped); }},
    {"watchers", [](const Source& s) { return std::to_string(s.locks.watchers); }},
    {"granted", [](const Source& s) { return std::to_string(s.locks.granted); }},
    {"granted_after_wait",
     [](const Source& s) { return std::to_string(s.locks.granted_after_wait); }},
    {"denied", [](const Source& s) { return std::to_string(s.locks.denied); }},
    {"released", [](const Source& s) { return std::to_string(s.locks.released); }},
    {"expired", [](const Source& s) { return std::to_string(s.locks.expired); }},
    {"broken",
     [](const Source& s) {
       return std::to_string(s.locks.broken + s.server.statistics.broken_in_values);
     }},
    {"timed_out", [](const Source& s) { return std::to_string(s.locks.timed_out); }},
    {"newest_token", [](const Source& s) { return std::to_string(s.locks.newest_token); }},
});

constexpr auto kClusterFields = std::to_array<Field>({
    {"cluster_enabled", [](const Source& s) { return OneIf(s.server.environment.IsCluster()); }},
});

void AddLine(std::string& report, std::string_view name, std::string_view value) {
  report.append(name).append(":").append(value).append("\r\n");
}

// The following functions add sections whose lines are not fixed in advance.

void AddOverrides(std::string& report, const Source& source) {
  const auto& rows = source.server.locks.engine().limits().Overrides(source.now).all();
  AddLine(report, "limit_overrides", std::to_string(rows.size()));
  if (!source.shows_patterns) return;
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

void AddReplication(std::string& report, const Source& source) {
  report += ReplicationLines(source.server.environment.fleet);
}

void AddFleet(std::string& report, const Source& source) {
  report += FleetLines(source.server.environment.fleet);
}

// The fields are exactly those of Redis, because exporters parse whole lines.
void AddCommands(std::string& report, const Source& source) {
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

void AddErrors(std::string& report, const Source& source) {
  for (const auto& [word, count] : source.server.statistics.commands.errors()) {
    AddLine(report, "errorstat_" + word, "count=" + std::to_string(count));
  }
}

void AddDatabases(std::string& report, const Source& source) {
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
  std::span<const Field> fields;
  void (*add_lines)(std::string&, const Source&);
};

constexpr auto kSections = std::to_array<Section>({
    {"Server", true, kServerFields, nullptr},
    {"Clients", true, kClientsFields, nullptr},
    {"Memory", true, kMemoryFields, nullptr},
    {"Persistence", true, kPersistenceFields, nullptr},
    {"Stats", true, kStatsFields, nullptr},
    {"Replication", true, {}, AddReplication},
    {"CPU", true, kCpuFields, nullptr},
    {"Locks", true, kLocksFields, AddOverrides},
    {"Commandstats", false, {}, AddCommands},
    {"Errorstats", true, {}, AddErrors},
    {"Cluster", true, kClusterFields, AddFleet},
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

std::string InfoReport(std::span<const std::string_view> sections, ServerParts& server,
                       bool shows_patterns, engine::TimeMs now) {
  const Source source{.server = server,
                      .facts = server.environment.facts,
                      .counters = server.statistics.counters,
                      .locks = server.locks.engine().counts(),
                      .resources = server.environment.resources.Resources(),
                      .persistence = server.environment.ReportPersistence(),
                      .unix_us = server.environment.clock.UnixTimeUs(),
                      .uptime_s = (now - server.started_at) / 1000,
                      .shows_patterns = shows_patterns,
                      .now = now};
  std::string report;
  for (const Section& section : kSections) {
    if (!IsAskedFor(section, sections)) continue;
    if (!report.empty()) report += "\r\n";
    report.append("# ").append(section.title).append("\r\n");
    for (const Field& field : section.fields) AddLine(report, field.name, field.value(source));
    if (section.add_lines != nullptr) section.add_lines(report, source);
  }
  return report;
}

}  // namespace fairlock::command
