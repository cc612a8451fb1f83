// `history` and `stats`: past events, and counts of them.
#include <algorithm>
#include <array>
#include <memory>

#include "cli/commands/all_commands.h"
#include "cli/connection/reply_fields.h"
#include "cli/output/duration.h"
#include "cli/output/table.h"
#include "cli/views/claim_tables.h"
#include "cli/views/history.h"
#include "cli/views/info_report.h"
#include "cli/views/stats_merge.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr std::string_view kAllKeys = "*";
constexpr std::int64_t kEventsDefault = 50;
constexpr std::int64_t kEventsMax = 100'000;
constexpr std::int64_t kMinutesMax = 1440;
constexpr std::int64_t kNumberMax = std::int64_t{1} << 53;

struct HistoryOptions {
  HistoryQuery query;
  std::optional<std::int64_t> count;
  std::optional<std::int64_t> before;
  bool is_json = false;
};

void PrintHistory(const HistoryQuery& query, const HistoryPage& page, const Context& context) {
  if (page.events.empty()) {
    context.Print("No known events of " + context.out.Printable(query.key) +
                  (page.oldest_unix_ms
                       ? "; the history goes back to " + ShowMoment(*page.oldest_unix_ms)
                       : "; nothing has happened yet") +
                  ".\n");
    return;
  }
  context.Print(HistoryText(page.events, query.key == kAllKeys, context.out));
  if (!page.next_before && !page.next_until) return;
  const std::string next = page.next_before ? "--before " + std::to_string(*page.next_before)
                                            : "--until " + std::to_string(*page.next_until);
  context.Say("there are more events: " + next +
              " shows earlier ones, --count N shows more at once");
}

Result<int> ShowHistory(const HistoryOptions& options, Context& context) {
  HistoryQuery query = options.query;
  query.count = options.count.value_or(kEventsDefault);
  query.before = options.before.value_or(0);
  // One key has its history at the leader of its partition, to which the client is redirected.
  Result<FleetLeaders> leaders =
      query.key == kAllKeys ? context.FindLeaders() : FleetLeaders(context.client);
  if (!leaders) return leaders.failure();
  if (leaders->is_several() && options.before) {
    return Failure{
        kExitWrongUse,
        "--before needs a KEY in a fleet of several partitions, because each numbers its "
        "own events; give --until"};
  }
  const Result<HistoryPage> page = FetchHistory(*leaders, query);
  if (!page) return page.failure();
  if (options.is_json) {
    boost::json::object object = ObjectOf(*page);
    AddFailed(object, *leaders);
    context.PrintJson(object);
  } else {
    PrintHistory(query, *page, context);
  }
  return context.Conclude(*leaders, kExitDone);
}
Action DescribeHistory(Arguments& arguments) {
  auto options = std::make_shared<HistoryOptions>();
  arguments.Required("KEY|*", options->query.key,
                     "Name of the lock, or * for all locks of the database");
  arguments.Text("--owner,-o", options->query.owner, "Only events of this owner");
  arguments.Text("--since", options->query.since, "Earliest time: 2h (ago), or Unix milliseconds");
  arguments.Text("--until", options->query.until, "Latest time, in the same form");
  arguments.Number("--before", options->before, {0, kNumberMax},
                   "Only events before this number, which the previous page printed");
  arguments.Number("--count,-n", options->count, {1, kEventsMax}, "Maximum number of events (50)");
  arguments.Flag("--json", options->is_json, "As JSON, newest first");
  return [options](Context& context) { return ShowHistory(*options, context); };
}

// Statistics

struct StatsOptions {
  std::optional<std::string> label;
  std::optional<std::int64_t> minutes;
  bool is_by_minute = false;
  bool is_json = false;
};

std::vector<std::string> StatsRequest(const StatsOptions& options) {
  std::vector<std::string> words = {"STATS"};
  if (options.label) words.insert(words.end(), {"LABEL", *options.label});
  if (options.minutes) words.insert(words.end(), {"MINUTES", std::to_string(*options.minutes)});
  if (options.is_by_minute) words.insert(words.end(), {"BY", "MINUTE"});
  return words;
}

std::string StatsText(const protocol::Reply& rows, bool is_by_minute, const Screen& screen) {
  constexpr auto kCounts = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"ACQUIRED", "acquired"},
       {"AFTER WAIT", "granted_after_wait"},
       {"DENIED", "denied"},
       {"RELEASED", "released"},
       {"EXPIRED", "expired"},
       {"TIMED OUT", "timed_out"},
       {"BROKEN", "broken"}});
  constexpr auto kTimes =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"WAIT P50", "wait_p50_ms"},
                                                                    {"P99", "wait_p99_ms"},
                                                                    {"HOLD P50", "hold_p50_ms"},
                                                                    {"P99", "hold_p99_ms"}});
  std::vector<Column> columns = {{.title = "LABEL", .may_shrink = true}};
  if (is_by_minute) columns.push_back({.title = "MINUTE"});
  for (const auto& [title, field] : kCounts) {
    columns.push_back({.title = std::string(title), .is_right_aligned = true});
  }
  for (const auto& [title, field] : kTimes) {
    columns.push_back({.title = std::string(title), .is_right_aligned = true});
  }
  Table table(columns, screen);
  for (const protocol::Reply& row : rows.elements) {
    const std::string label = TextField(row, "label");
    std::vector<Cell> cells = {label.empty() ? Cell{"(none)", Tint::kFaint}
                                             : Cell{screen.Printable(label)}};
    if (is_by_minute) cells.push_back({ShowMoment(IntegerOr(row, "since"))});
    for (const auto& [title, field] : kCounts) cells.push_back({ShowCount(IntegerOr(row, field))});
    for (const auto& [title, field] : kTimes) {
      cells.push_back({ShowTimeLeft(IntegerField(row, field), "-")});
    }
    table.Add(std::move(cells));
  }
  return table.Flush();
}

Result<int> ShowStats(const StatsOptions& options, Context& context) {
  const std::vector<std::string> words = StatsRequest(options);
  Result<FleetLeaders> leaders = context.FindLeaders();
  if (!leaders) return leaders.failure();
  auto answers = leaders->AskAll(std::vector<std::string_view>(words.begin(), words.end()));
  if (!answers) return answers.failure();
  std::vector<protocol::Reply> replies;
  for (auto& [partition, reply] : *answers) replies.push_back(std::move(reply));
  const protocol::Reply stats = MergedStats(replies, options.is_by_minute);
  const protocol::Reply* const rows = FindField(stats, "labels");
  if (options.is_json) {
    boost::json::object object = json::ObjectOf(stats);
    AddFailed(object, *leaders);
    context.PrintJson(object);
  } else if (rows == nullptr || rows->elements.empty()) {
    context.Print("Nothing was counted in this period.\n");
  } else {
    context.Print(StatsText(*rows, options.is_by_minute, context.out));
  }
  return context.Conclude(*leaders, kExitDone);
}

Action DescribeStats(Arguments& arguments) {
  auto options = std::make_shared<StatsOptions>();
  arguments.Text("--label,-l", options->label, "Only this label");
  arguments.Number("--minutes,-m", options->minutes, {1, kMinutesMax},
                   "How many minutes to go back (60)");
  arguments.Flag("--by-minute", options->is_by_minute, "One row per minute");
  arguments.Flag("--json", options->is_json, "Print JSON: every count and percentile");
  return [options](Context& context) { return ShowStats(*options, context); };
}

constexpr auto kHistoryCommands = std::to_array<CommandRow>({
    {"history", kInspecting, "Lists past events of a key, or of all keys", DescribeHistory},
    {"stats", kInspecting, "Shows counts, waits and holds by label", DescribeStats},
});

}  // namespace

std::span<const CommandRow> HistoryCommands() { return kHistoryCommands; }

}  // namespace fairlock::cli
