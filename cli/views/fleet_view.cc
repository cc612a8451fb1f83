#include "cli/views/fleet_view.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <span>

#include "cli/connection/reply_fields.h"
#include "cli/output/duration.h"
#include "cli/output/printable.h"
#include "cli/output/table.h"
#include "cli/views/info_report.h"

namespace fairlock::cli {

namespace {

using EtcdVersion = std::array<int, 3>;

std::optional<EtcdVersion> ParseEtcdVersion(std::string_view text) {
  EtcdVersion version{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < version.size(); ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return std::nullopt;
    const auto [next, error] = std::from_chars(at, end, version[i]);
    if (error != std::errc()) return std::nullopt;
    at = next;
  }
  return version;
}

std::span<const protocol::Reply> RowsOf(const protocol::Reply& status, std::string_view name) {
  const protocol::Reply* const rows = FindField(status, name);
  return rows == nullptr ? std::span<const protocol::Reply>() : std::span(rows->elements);
}

bool IsSet(const protocol::Reply& map, std::string_view name) { return IntegerOr(map, name) != 0; }

std::string PrintableField(const protocol::Reply& map, std::string_view name) {
  return PrintableText(TextField(map, name), Charset::kUtf8);
}

void AddNodeWarnings(const protocol::Reply& status, std::vector<std::string>& warnings) {
  const auto nodes = RowsOf(status, "nodes");
  const auto standbys = std::ranges::count_if(
      nodes, [](const auto& node) { return TextField(node, "role") == "standby"; });
  const bool has_one_in_sync = std::ranges::any_of(nodes, [](const auto& node) {
    return TextField(node, "role") == "standby" && IsSet(node, "in_sync");
  });
  if (standbys == 0) {
    warnings.emplace_back("there is no standby: if the leader dies, nobody takes over");
  } else if (!has_one_in_sync) {
    warnings.emplace_back("no standby has the whole log yet: a take-over would take longer");
  }
}

void AddEtcdWarnings(const protocol::Reply& status, std::vector<std::string>& warnings) {
  for (const protocol::Reply& member : RowsOf(status, "etcd")) {
    const std::string name = "the etcd member " + PrintableField(member, "endpoint");
    const std::string version = PrintableField(member, "version");
    if (const std::string error = PrintableField(member, "error"); !error.empty()) {
      warnings.push_back(name + " does not answer: " + error);
    } else if (IsOldEtcd(version)) {
      warnings.push_back(name + " has version " + version +
                         "; update it to 3.4.42, 3.5.28, 3.6.9 or later");
    }
  }
  if (IsSet(status, "no_space")) {
    warnings.emplace_back("etcd accepts no writes: its NOSPACE alarm is raised");
  } else if (IsSet(status, "short_of_quota")) {
    warnings.emplace_back("etcd has almost reached its quota: no new locks are granted");
  }
}

std::string LeaderLine(const protocol::Reply& status, std::int64_t unix_ms) {
  const std::string leader = PrintableField(status, "leader");
  const std::string epoch = ", epoch " + std::to_string(IntegerOr(status, "epoch"));
  if (leader.empty()) return "none" + epoch;
  const std::int64_t since = IntegerOr(status, "leader_since");
  return leader + " at " + PrintableField(status, "leader_address") + " since " +
         ShowMoment(since) + " (" + ShowDuration(std::max<std::int64_t>(unix_ms - since, 0)) + ")" +
         epoch;
}

std::string FleetLine(const protocol::Reply& status) {
  const auto age_ms = IntegerField(status, "age_ms");
  return PrintableField(status, "fleet") + ", as node " + PrintableField(status, "node") + " (" +
         PrintableField(status, "role") + ") saw it " +
         (age_ms ? ShowDuration(*age_ms) + " ago"
                 : "before it had read the lists of nodes and members");
}

std::string LagText(const protocol::Reply& node) {
  if (TextField(node, "role") == "leader") return "-";
  if (IsSet(node, "in_sync")) return "in sync";
  return ShowCount(IntegerOr(node, "frames_behind")) + " frames";
}

std::string NodesText(const protocol::Reply& status, std::int64_t unix_ms, const Screen& screen) {
  Table table({{.title = "NODE", .may_shrink = true},
               {.title = "ROLE"},
               {.title = "BEHIND", .is_right_aligned = true},
               {.title = "UP FOR", .is_right_aligned = true},
               {.title = "VERSION"},
               {.title = "ADDRESS", .may_shrink = true}},
              screen);
  for (const protocol::Reply& node : RowsOf(status, "nodes")) {
    const std::int64_t up_ms = unix_ms - IntegerOr(node, "started_at", unix_ms);
    table.Add({{screen.Printable(TextField(node, "name"))},
               {screen.Printable(TextField(node, "role"))},
               {LagText(node)},
               {ShowDuration(std::max<std::int64_t>(up_ms, 0))},
               {screen.Printable(TextField(node, "version"))},
               {screen.Printable(TextField(node, "address"))}});
  }
  return table.Flush();
}

std::string QuotaText(std::int64_t size, std::int64_t quota) {
  if (quota <= 0) return "-";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%",
                100 * static_cast<double>(size) / static_cast<double>(quota));
  return text.data();
}

std::string EtcdText(const protocol::Reply& status, const Screen& screen) {
  Table table({{.title = "ETCD", .may_shrink = true},
               {.title = "VERSION"},
               {.title = "LEADER"},
               {.title = "SIZE", .is_right_aligned = true},
               {.title = "IN USE", .is_right_aligned = true},
               {.title = "OF QUOTA", .is_right_aligned = true}},
              screen);
  const std::int64_t quota = IntegerOr(status, "quota_bytes");
  for (const protocol::Reply& member : RowsOf(status, "etcd")) {
    const std::string endpoint = screen.Printable(TextField(member, "endpoint"));
    if (!TextField(member, "error").empty()) {
      table.Add({{endpoint}, {"-"}, {"-"}, {"-"}, {"-"}, {"-"}});
      continue;
    }
    const std::int64_t size = IntegerOr(member, "size_bytes");
    table.Add({{endpoint},
               {screen.Printable(TextField(member, "version"))},
               {IsSet(member, "leader") ? "yes" : "no"},
               {ShowBytes(size)},
               {ShowBytes(IntegerOr(member, "size_in_use_bytes"))},
               {QuotaText(size, quota)}});
  }
  return table.Flush();
}

}  // namespace

bool IsOldEtcd(std::string_view version) {
  constexpr auto kFirstGood = std::to_array<EtcdVersion>({{3, 4, 42}, {3, 5, 28}, {3, 6, 9}});
  const auto parsed = ParseEtcdVersion(version);
  if (!parsed) return true;
  for (const EtcdVersion& good : kFirstGood) {
    if ((*parsed)[0] == good[0] && (*parsed)[1] == good[1]) return *parsed < good;
  }
  return *parsed < kFirstGood.back();
}

std::vector<std::string> FleetWarnings(const protocol::Reply& status) {
  std::vector<std::string> warnings;
  if (IsSet(status, "awaits_acceptance")) {
    warnings.emplace_back(
        "etcd was restored from a backup: no node takes over until you run `fairlockctl "
        "cluster accept-restore`");
  }
  if (TextField(status, "leader").empty()) warnings.emplace_back("nobody leads");
  if (IsSet(status, "unsure"))
    warnings.emplace_back("the leader has had no confirmation from etcd for 2s");
  if (const std::string error = PrintableField(status, "error"); !error.empty()) {
    warnings.push_back("the lists of nodes and members could not be updated: " + error);
  }
  // Until the lists have been read, nothing is known about the nodes.
  if (IntegerField(status, "age_ms")) AddNodeWarnings(status, warnings);
  AddEtcdWarnings(status, warnings);
  return warnings;
}

std::string FleetText(const protocol::Reply& status, std::int64_t unix_ms, const Screen& screen) {
  std::string text = screen.Tinted("fleet   ", Tint::kHeading) + FleetLine(status) + "\n" +
                     screen.Tinted("leader  ", Tint::kHeading) + LeaderLine(status, unix_ms) + "\n";
  for (const std::string& table : {NodesText(status, unix_ms, screen), EtcdText(status, screen)}) {
    if (!table.empty()) text += "\n" + table;
  }
  const std::vector<std::string> warnings = FleetWarnings(status);
  if (!warnings.empty()) text += "\n";
  for (const std::string& warning : warnings) text += "warning: " + warning + "\n";
  return text;
}

}  // namespace fairlock::cli
