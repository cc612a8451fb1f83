// `status`: the server's health and load at a glance.
#include <array>
#include <memory>

#include "cli/commands/all_commands.h"
#include "cli/output/duration.h"
#include "cli/views/contended_locks.h"
#include "cli/views/info_report.h"
#include "cli/views/lock_walk.h"
#include "cli/views/verdict.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

// Bounds the time that a scan takes: on a server with more locks, only this many pages are read.
constexpr int kPagesMax = 200;
constexpr std::size_t kContendedShown = 5;

struct StatusOptions {
  bool is_json = false;
};

std::string MostWaitedFor(const Contended& contended, const Screen& screen) {
  if (contended.rows.empty()) return "\nNobody is waiting for a lock.\n";
  return "\n" + ContendedText(contended, "MOST WAITED FOR", screen) +
         (contended.is_whole ? "" : "(only some of the locks were scanned: there are too many)\n");
}

// What an operator asks first: are locks persisted, and is there disk space?
std::string PersistenceText(const InfoReport& info) {
  const std::string durability = info.Text("durability");
  if (durability.empty() || durability == "none") return "nothing: durability none";
  std::string text = "durability " + Printable(durability, Charset::kAscii) + ", " +
                     ShowBytes(info.Number("journal_waiting_bytes")) + " being written, " +
                     ShowBytes(info.Number("free_disk_bytes")) + " free, " +
                     ShowCount(info.Number("rows_loaded")) + " rows loaded at startup";
  if (info.Number("short_of_disk") > 0) text += "; short of space: new locks are refused";
  if (info.Number("storage_failed") > 0) text += "; WRITING HAS FAILED";
  return text;
}

struct Line {
  std::string_view name;
  std::string text;
};

// "fairlockd 0.1.0 at 127.0.0.1:3247, process 4711, master", or which part of a fleet.
std::string ServerText(const InfoReport& info, std::size_t answered, const FleetLeaders& leaders,
                       const Context& context) {
  const auto text = [&](std::string_view name) { return context.out.Printable(info.Text(name)); };
  const std::string version = "fairlockd " + text("fairlock_version");
  if (leaders.is_several()) {
    return version + ", fleet " + text("fleet_name") + ": the leaders of " +
           std::to_string(answered) + " of " + std::to_string(leaders.size()) + " partitions";
  }
  return version + " at " + context.client.ServerName() + ", process " + text("process_id") + ", " +
         text("role");
}

std::vector<Line> Lines(const InfoReport& info, const std::string& server, std::int64_t ping_us) {
  const auto count = [&](std::string_view name) { return ShowCount(info.Number(name)); };
  const std::int64_t uptime_s = info.Number("uptime_in_seconds");
  std::string overrides = count("limit_overrides");
  if (info.Number("limit_overrides") > 0) overrides += " in force; `fairlockctl limit list`";
  return {
      {"server", server},
      {"up for", uptime_s == 0 ? "less than 1s" : ShowDuration(uptime_s * 1000)},
      {"answers in", std::to_string(ping_us) + " us, network included"},
      {"clients", count("connected_clients") + " of " + count("maxclients") + ", " +
                      count("blocked_clients") + " of them waiting"},
      {"memory", ShowBytes(info.Number("used_memory"))},
      {"on disk", PersistenceText(info)},
      {"locks", count("locks") + " with " + count("holders") + " holders and " + count("waiters") +
                    " waiters"},
      {"since start", count("granted") + " granted (" + count("granted_after_wait") +
                          " after a wait), " + count("denied") + " denied, " + count("expired") +
                          " expired, " + count("timed_out") + " waits timed out, " +
                          count("broken") + " broken"},
      {"overrides", overrides},
  };
}

std::string LineText(const Line& line, const Screen& screen) {
  constexpr std::size_t kNameWidth = 14;
  const std::string name = std::string(line.name) + std::string(kNameWidth - line.name.size(), ' ');
  return screen.Tinted(name, Tint::kHeading) + line.text + "\n";
}

std::string VerdictLines(const Verdict& verdict, const Screen& screen) {
  const bool is_healthy = verdict.concerns.empty();
  std::string text = LineText({"verdict", screen.Tinted(is_healthy ? "healthy" : "needs attention",
                                                        is_healthy ? Tint::kGood : Tint::kBad)},
                              screen);
  for (const std::string& concern : verdict.concerns) text += LineText({"", concern}, screen);
  return text + LineText({"longest wait", LongestWaitText(verdict, screen)}, screen);
}

std::string InfoText(const InfoReport& info, const std::string& server, std::int64_t ping_us,
                     const Context& context) {
  std::string text;
  for (const Line& line : Lines(info, server, ping_us)) text += LineText(line, context.out);
  return text;
}

boost::json::array ContendedArray(const Contended& contended) {
  boost::json::array array;
  for (const LockRow& row : contended.rows) array.push_back(ObjectOf(row));
  return array;
}

boost::json::object ObjectOf(const InfoReport& info) {
  boost::json::object fields;
  for (const InfoReport::Field& field : info.fields())
    json::AddText(fields, field.name, field.value);
  return fields;
}

boost::json::object ObjectOf(const std::vector<LeaderInfo>& infos, std::int64_t ping_us,
                             const Contended& contended, const Verdict& verdict,
                             const FleetLeaders& leaders, const Context& context) {
  boost::json::object object = {
      {"server", context.client.ServerName()},    {"ping_us", ping_us},
      {"info", ObjectOf(CombinedInfo(infos))},    {"contended", ContendedArray(contended)},
      {"contended_is_whole", contended.is_whole}, {"verdict", ObjectOf(verdict)}};
  if (!leaders.is_several()) return object;
  boost::json::array partitions;
  for (const LeaderInfo& each : infos) {
    partitions.push_back({{"partition", each.partition}, {"info", ObjectOf(each.info)}});
  }
  object["partitions"] = std::move(partitions);
  AddFailed(object, leaders);
  return object;
}

Result<int> ShowStatus(const StatusOptions& options, Context& context) {
  Result<FleetLeaders> leaders = context.FindLeaders();
  if (!leaders) return leaders.failure();
  const Result<std::vector<LeaderInfo>> infos = FetchInfos(*leaders);
  if (!infos) return infos.failure();
  // The connection is already open, so this measures only the network and the server.
  const std::int64_t begin_ns = NowNs();
  const Result<protocol::Reply> pong = context.client.Ask({"PING"});
  if (!pong) return pong.failure();
  const std::int64_t ping_us = (NowNs() - begin_ns) / 1000;
  const Result<Contended> contended = FindContended(
      *leaders,
      {.database = context.settings.database, .count = kContendedShown, .pages_max = kPagesMax});
  if (!contended) return contended.failure();
  const InfoReport info = CombinedInfo(*infos);
  const Verdict verdict = FindVerdict(*leaders, info, *contended);
  if (options.is_json) {
    context.PrintJson(ObjectOf(*infos, ping_us, *contended, verdict, *leaders, context));
  } else {
    const std::string server = ServerText(info, infos->size(), *leaders, context);
    context.Print(VerdictLines(verdict, context.out) + InfoText(info, server, ping_us, context) +
                  MostWaitedFor(*contended, context.out));
  }
  return context.Conclude(*leaders, kExitDone);
}

Action DescribeStatus(Arguments& arguments) {
  auto options = std::make_shared<StatusOptions>();
  arguments.Flag("--json", options->is_json,
                 "Print JSON: all fields of INFO, and the most contended locks");
  return [options](Context& context) { return ShowStatus(*options, context); };
}

constexpr auto kStatusCommands = std::to_array<CommandRow>({
    {"status", kInspecting, "Shows the server's health and load, and the most contended locks",
     DescribeStatus},
});

}  // namespace

std::span<const CommandRow> StatusCommands() { return kStatusCommands; }

}  // namespace fairlock::cli
