// The figures of the server, and the report of INFO, which shows them in sections.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "server/command/server_parts.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// Where figures are read: the state of the server at one moment. It points to itself.
struct Readings {
  Readings(ServerParts& with_parts, engine::TimeMs time);
  Readings(const Readings&) = delete;
  Readings& operator=(const Readings&) = delete;

  const engine::EngineCounts& locks() const { return *std::get<0>(parts); }

  ServerParts& server;
  const ResourceUse resources;
  const PersistenceReport persistence;
  const engine::TimeMs now;
  // What has members that are figures. The last three may be null.
  const std::tuple<const engine::EngineCounts*, const Environment*, const ServerFacts*,
                   const Clock*, const ResourceUse*, const PersistenceReport*, const Availability*,
                   const MemoryBound*, const ServerCounters*, const ServerGauges*,
                   const CommandStatistics*, const ClientRegistry*, const Newcomers*,
                   const values::ValueStore*, const script::Interpreter*, const record::EventTap*,
                   const record::History*, const record::LabelStatistics*>
      parts;
};

using FigureValue = std::variant<std::uint64_t, double, std::string>;

struct Figure {
  std::string_view info_name;  // empty: INFO does not show it
  FigureValue (*value)(const Readings& readings);
  // Empty: /metrics does not show it. The name of a counter ends with _total.
  std::string_view metric_name = {};
  std::string_view help = {};  // of the metric
};

// All figures without labels. Those that /metrics shows come first, in its order.
std::span<const Figure> AllFigures();

// Returns lines of "name:value" under a heading for each requested section; the names of sections
// are case-insensitive. Without arguments, returns the sections that Redis clients expect. "all"
// and "everything" add the long sections. Unknown sections are ignored. If `shows_patterns` is set,
// lists the overrides of LIMIT, whose patterns name keys; otherwise only counts them.
std::string InfoReport(std::span<const std::string_view> sections, ServerParts& server,
                       bool shows_patterns, engine::TimeMs now);

}  // namespace fairlock::command
