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
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr std::int64_t kPartitionsMax = 64;

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

// The words of `text` that `other` does not have.
std::string WordsMissingIn(std::string_view other, std::string_view text) {
  std::string missing;
  const std::string haystack = " " + std::string(other) + " ";
  while (!text.empty()) {
    const std::string word(text.substr(0, text.find(' ')));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (haystack.find(" " + word + " ") != std::string::npos) continue;
    missing += (missing.empty() ? "" : ", ") + word;
  }
  return missing;
}

// Nodes whose options differ from those of their partition's leader.
void AddOptionWarnings(const protocol::Reply& status, std::vector<std::string>& warnings) {
  const auto nodes = RowsOf(status, "nodes");
  for (const protocol::Reply& leader : nodes) {
    if (TextField(leader, "role") != "leader" || TextField(leader, "options").empty()) continue;
    for (const protocol::Reply& node : nodes) {
      const std::string options = PrintableField(node, "options");
      const bool is_peer = IntegerOr(node, "partition") == IntegerOr(leader, "partition");
      if (!is_peer || options.empty()) continue;
      const std::string differing = WordsMissingIn(PrintableField(leader, "options"), options);
      if (differing.empty()) continue;
      warnings.push_back(PrintableField(node, "name") + " has " + differing + ", but the leader " +
                         PrintableField(leader, "name") + " has " +
                         WordsMissingIn(options, PrintableField(leader, "options")) +
                         ": what survives a take-over depends on which one leads");
    }
  }
}

void AddReachWarnings(const protocol::Reply& status, std::vector<std::string>& warnings) {
  for (const protocol::Reply& node : RowsOf(status, "nodes")) {
    if (!IsSet(node, "unreachable")) continue;
    warnings.push_back(PrintableField(node, "name") + " announces " +
                       PrintableField(node, "address") +
                       ", where most other nodes cannot connect to it (cluster_announce)");
  }
}

void AddEtcdWarnings(const protocol::Reply& status, std::vector<std::string>& warnings) {
  for (const protocol::Reply& node : RowsOf(status, "nodes")) {
    const std::string refused = PrintableField(node, "refused_etcd");
    if (refused.empty()) continue;
    warnings.push_back(PrintableField(node, "name") + " does not use " + refused +
                       ", which belongs to another etcd cluster (cluster_etcd)");
  }
  for (const protocol::Reply& member : RowsOf(status, "etcd")) {
    const std::string name = "the etcd member " + PrintableField(member, "endpoint");
    const std::string version = PrintableField(member, "version");
    if (const std::string error = PrintableField(member, "error"); !error.empty()) {
      warnings.push_back(name + " does not serve: " + error);
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

// "2026-11-26 18:07:58 (5.8s)".
std::string SinceText(std::int64_t since, std::int64_t unix_ms) {
  return ShowMoment(since) + " (" + ShowDuration(std::max<std::int64_t>(unix_ms - since, 0)) + ")";
}

// "; node1 led last, and was heard of 84s ago"; empty if nothing is known of an earlier leader.
std::string LastLeaderText(const protocol::Reply& status) {
  const std::string last = PrintableField(status, "last_leader");
  const auto heard_ms = IntegerField(status, "leader_heard_ms");
  if (last.empty() || !heard_ms) return "";
  if (IsSet(status, "unsure")) {
    return "; " + last + " led last, and etcd confirmed that " + ShowDuration(*heard_ms) + " ago";
  }
  return "; " + last + " led last, and was heard of " + ShowDuration(*heard_ms) + " ago";
}

std::string LeaderLine(const protocol::Reply& status, std::int64_t unix_ms) {
  const std::string leader = PrintableField(status, "leader");
  const std::string epoch = ", epoch " + std::to_string(IntegerOr(status, "epoch"));
  if (leader.empty()) return "none" + epoch + LastLeaderText(status);
  const auto since = IntegerField(status, "leader_since");
  return leader + " at " + PrintableField(status, "leader_address") +
         (since ? " since " + SinceText(*since, unix_ms) : "") + epoch;
}

std::string FleetLine(const protocol::Reply& status) {
  const auto age_ms = IntegerField(status, "age_ms");
  const auto partition = IntegerField(status, "partition");
  const std::int64_t partitions = IntegerOr(status, "partitions");
  const bool has_several = partition && partitions > 1;
  return PrintableField(status, "fleet") +
         (has_several ? ", " + std::to_string(partitions) + " partitions" : "") + ", as node " +
         PrintableField(status, "node") + " (" +
         (IsSet(status, "unsure") ? "unsure" : PrintableField(status, "role")) +
         (has_several ? " of partition " + std::to_string(*partition) : "") + ") saw it " +
         (age_ms ? ShowDuration(*age_ms) + " ago"
                 : "before it had read the lists of nodes and members");
}

std::string LagText(const protocol::Reply& node) {
  if (TextField(node, "role") != "standby") return "-";
  if (IsSet(node, "unreachable")) return "unreachable";
  if (IsSet(node, "in_sync")) return "in sync";
  const std::int64_t frames = IntegerOr(node, "frames_behind");
  return frames == 0 ? "not following" : ShowCount(frames) + " frames";
}

std::string NodesText(const protocol::Reply& status, std::int64_t unix_ms, const Screen& screen) {
  const bool has_several = IntegerOr(status, "partitions") > 1;
  std::vector<Column> columns = {{.title = "NODE", .may_shrink = true}};
  if (has_several) columns.push_back({.title = "PARTITION", .is_right_aligned = true});
  columns.insert(columns.end(), {{.title = "ROLE"},
                                 {.title = "BEHIND", .is_right_aligned = true},
                                 {.title = "UP FOR", .is_right_aligned = true},
                                 {.title = "VERSION"},
                                 {.title = "ADDRESS", .may_shrink = true}});
  Table table(columns, screen);
  for (const protocol::Reply& node : RowsOf(status, "nodes")) {
    const std::int64_t up_ms = unix_ms - IntegerOr(node, "started_at", unix_ms);
    std::vector<Cell> cells = {{screen.Printable(TextField(node, "name"))}};
    if (has_several) cells.push_back({std::to_string(IntegerOr(node, "partition"))});
    cells.insert(cells.end(), {{screen.Printable(TextField(node, "role"))},
                               {LagText(node)},
                               {ShowDuration(std::max<std::int64_t>(up_ms, 0))},
                               {screen.Printable(TextField(node, "version"))},
                               {screen.Printable(TextField(node, "address"))}});
    table.Add(std::move(cells));
  }
  return table.Flush();
}

std::string PartitionsText(const std::vector<PartitionView>& partitions, std::int64_t unix_ms,
                           const Screen& screen) {
  Table table({{.title = "PARTITION", .is_right_aligned = true},
               {.title = "LEADER", .may_shrink = true},
               {.title = "SINCE"},
               {.title = "EPOCH", .is_right_aligned = true},
               {.title = "STANDBYS", .may_shrink = true}},
              screen);
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    const PartitionView& each = partitions[i];
    std::string standbys;
    for (const std::string& name : each.standbys) {
      standbys += (standbys.empty() ? "" : ", ") + screen.Printable(name);
    }
    table.Add({{std::to_string(i)},
               each.leader.empty() ? Cell{"none", Tint::kBad} : Cell{screen.Printable(each.leader)},
               {each.since_unix_ms ? SinceText(*each.since_unix_ms, unix_ms) : "-"},
               {each.epoch ? std::to_string(*each.epoch) : "-"},
               standbys.empty() ? Cell{"none", Tint::kWarning} : Cell{standbys}});
  }
  return table.Flush();
}

// "partition 1", or "partitions 0, 2"; empty: there are none.
std::string NameThose(const std::vector<PartitionView>& partitions,
                      bool (*is_meant)(const PartitionView&)) {
  std::string text;
  bool has_several = false;
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    if (!is_meant(partitions[i])) continue;
    has_several = !text.empty();
    text += (text.empty() ? "" : ", ") + std::to_string(i);
  }
  if (text.empty()) return "";
  return (has_several ? "partitions " : "partition ") + text;
}

void AddPartitionWarnings(const std::vector<PartitionView>& partitions,
                          std::vector<std::string>& warnings) {
  const auto add = [&](const std::string& before, bool (*is_meant)(const PartitionView&),
                       const std::string& after) {
    const std::string names = NameThose(partitions, is_meant);
    if (!names.empty()) warnings.push_back(before + names + after);
  };
  add(
      "nobody leads ", [](const PartitionView& each) { return each.leader.empty(); }, "");
  add(
      "etcd does not confirm the leader of ",
      [](const PartitionView& each) { return each.is_unsure; },
      ", which refuses commands about locks");
  add(
      "there is no standby for ", [](const PartitionView& each) { return each.standbys.empty(); },
      ": if the leader dies, nobody takes over");
  add(
      "no standby has the whole log yet of ",
      [](const PartitionView& each) { return !each.standbys.empty() && !each.has_standby_in_sync; },
      ": a take-over would take longer");
}

bool HasLeader(const protocol::Reply& status, std::int64_t partition) {
  return std::ranges::any_of(RowsOf(status, "nodes"), [&](const auto& node) {
    return TextField(node, "role") == "leader" && IntegerOr(node, "partition") == partition;
  });
}

// Those that do not depend on the number of partitions.
void AddFleetWarnings(const protocol::Reply& status, std::vector<std::string>& warnings) {
  const auto age_ms = IntegerField(status, "age_ms");
  if (const std::string error = PrintableField(status, "error"); !error.empty()) {
    warnings.push_back("the list of nodes " +
                       (age_ms ? "is " + ShowDuration(*age_ms) + " old, and " : std::string()) +
                       "could not be updated: " + error);
  }
  AddOptionWarnings(status, warnings);
  AddReachWarnings(status, warnings);
  for (const protocol::Reply& node : RowsOf(status, "nodes")) {
    if (TextField(node, "role") != "lost") continue;
    warnings.push_back(
        PrintableField(node, "name") +
        (HasLeader(status, IntegerOr(node, "partition"))
             ? " led, but is dead, or has not learned yet that it is deposed"
             : " led, but is not heard of: it is dead or cut off, or etcd has failed"));
  }
}

void AddAcceptanceWarning(const protocol::Reply& status, std::vector<std::string>& warnings) {
  if (!IsSet(status, "awaits_acceptance")) return;
  warnings.emplace_back(
      "etcd was restored from a backup: no node takes over until you run `fairlockctl "
      "cluster accept-restore`");
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

void AddTables(const std::vector<std::string>& tables, const std::vector<std::string>& warnings,
               std::string& text) {
  for (const std::string& table : tables) {
    if (!table.empty()) text += "\n" + table;
  }
  if (!warnings.empty()) text += "\n";
  for (const std::string& warning : warnings) text += "warning: " + warning + "\n";
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
  AddAcceptanceWarning(status, warnings);
  if (TextField(status, "leader").empty()) warnings.emplace_back("nobody leads");
  if (IsSet(status, "unsure")) {
    warnings.push_back("etcd does not confirm that " + PrintableField(status, "node") +
                       " leads, so this node refuses commands about locks");
  }
  AddFleetWarnings(status, warnings);
  // Until the lists have been read, nothing is known about the nodes.
  if (IntegerField(status, "age_ms")) AddNodeWarnings(status, warnings);
  AddEtcdWarnings(status, warnings);
  return warnings;
}

std::string FleetText(const protocol::Reply& status, std::int64_t unix_ms, const Screen& screen) {
  std::string text = screen.Tinted("fleet   ", Tint::kHeading) + FleetLine(status) + "\n" +
                     screen.Tinted("leader  ", Tint::kHeading) + LeaderLine(status, unix_ms) + "\n";
  AddTables({NodesText(status, unix_ms, screen), EtcdText(status, screen)}, FleetWarnings(status),
            text);
  return text;
}

std::vector<PartitionView> PartitionsOf(const protocol::Reply& status,
                                        const std::map<std::size_t, protocol::Reply>& of_leaders) {
  std::vector<PartitionView> partitions(static_cast<std::size_t>(
      std::clamp<std::int64_t>(IntegerOr(status, "partitions"), 0, kPartitionsMax)));
  for (const protocol::Reply& node : RowsOf(status, "nodes")) {
    const auto partition = static_cast<std::size_t>(IntegerOr(node, "partition"));
    if (partition >= partitions.size()) continue;
    PartitionView& view = partitions[partition];
    if (TextField(node, "role") == "leader") {
      view.leader = TextField(node, "name");
      view.address = TextField(node, "address");
    } else if (TextField(node, "role") == "standby") {
      view.standbys.push_back(TextField(node, "name"));
      view.has_standby_in_sync = view.has_standby_in_sync || IsSet(node, "in_sync");
    }
  }
  for (const auto& [partition, own] : of_leaders) {
    if (partition >= partitions.size()) continue;
    PartitionView& view = partitions[partition];
    view.leader = TextField(own, "leader");
    view.address = TextField(own, "leader_address");
    view.epoch = IntegerField(own, "epoch");
    view.since_unix_ms = IntegerField(own, "leader_since");
    view.is_unsure = IsSet(own, "unsure");
  }
  return partitions;
}

std::vector<std::string> FleetWarnings(const protocol::Reply& status,
                                       const std::vector<PartitionView>& partitions) {
  std::vector<std::string> warnings;
  AddAcceptanceWarning(status, warnings);
  AddFleetWarnings(status, warnings);
  // Until the lists have been read, nothing is known about the nodes.
  if (IntegerField(status, "age_ms")) AddPartitionWarnings(partitions, warnings);
  AddEtcdWarnings(status, warnings);
  return warnings;
}

std::string FleetText(const protocol::Reply& status, const std::vector<PartitionView>& partitions,
                      std::int64_t unix_ms, const Screen& screen) {
  std::string text = screen.Tinted("fleet   ", Tint::kHeading) + FleetLine(status) + "\n";
  AddTables({PartitionsText(partitions, unix_ms, screen), NodesText(status, unix_ms, screen),
             EtcdText(status, screen)},
            FleetWarnings(status, partitions), text);
  return text;
}

boost::json::array ArrayOf(const std::vector<PartitionView>& partitions) {
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? boost::json::value(*value) : boost::json::value(nullptr);
  };
  boost::json::array rows;
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    const PartitionView& each = partitions[i];
    boost::json::object row = {{"partition", i}};
    row["leader"] = nullptr;
    row["leader_address"] = nullptr;
    if (!each.leader.empty()) {
      json::AddText(row, "leader", each.leader);
      json::AddText(row, "leader_address", each.address);
    }
    row["leader_since"] = number(each.since_unix_ms);
    row["epoch"] = number(each.epoch);
    row["unsure"] = each.is_unsure ? 1 : 0;
    row["standbys"] = boost::json::array(each.standbys.begin(), each.standbys.end());
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace fairlock::cli
