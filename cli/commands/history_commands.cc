// `history` and `stats`: past events, and counts of them.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <ranges>
#include <sstream>
#include <thread>

#include "cli/commands/all_commands.h"
#include "cli/connection/reply_fields.h"
#include "cli/output/duration.h"
#include "cli/output/table.h"
#include "cli/views/claim_tables.h"
#include "cli/views/history.h"
#include "cli/views/info_report.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr std::string_view kAllKeys = "*";
constexpr std::int64_t kEventsDefault = 50;
constexpr std::int64_t kEventsBeforeFollowing = 10;
constexpr std::int64_t kEventsMax = 100'000;
constexpr std::chrono::milliseconds kFollowPause{300};
constexpr std::int64_t kMinutesMax = 1440;
constexpr std::int64_t kNumberMax = std::int64_t{1} << 53;

struct HistoryOptions {
  std::optional<std::string> key;  // none means all keys
  bool is_exact = false;
  std::optional<std::string> owner;
  std::optional<std::string> events;
  std::optional<std::string> since;
  std::optional<std::string> until;
  std::optional<std::int64_t> count;
  std::optional<std::int64_t> before;
  std::optional<std::string> file;
  bool follows = false;
  std::optional<DurationMs> follow_ms;
  bool is_json = false;
};

bool NamesSeveral(const HistoryOptions& options) {
  return !options.key ||
         (!options.is_exact && options.key->find_first_of("*?[") != std::string::npos);
}

Failure WrongUse(std::string text) { return {kExitWrongUse, std::move(text)}; }

// Returns `otherwise` if the option was not given.
Result<std::int64_t> MomentOf(std::string_view name, const std::optional<std::string>& text,
                              std::int64_t otherwise, const Context& context) {
  if (!text) return otherwise;
  if (const auto unix_ms = ParseMoment(*text, UnixTimeMs())) return *unix_ms;
  return WrongUse(std::string(name) + " is " + context.errors.Quoted(*text) + "; it must be " +
                  std::string(kMomentForms));
}

// The time in the syntax of HISTORY. A duration counts from the server's time.
Result<std::optional<std::string>> TimeFor(std::string_view name,
                                           const std::optional<std::string>& text,
                                           const Context& context) {
  if (!text) return std::optional<std::string>();
  if (const auto ago_ms = ParseDuration(*text); ago_ms && *ago_ms > 0) {
    return std::optional(std::to_string(*ago_ms) + "ms");
  }
  const Result<std::int64_t> unix_ms = MomentOf(name, text, 0, context);
  if (!unix_ms) return unix_ms.failure();
  return std::optional(std::to_string(*unix_ms));
}

Result<HistoryQuery> QueryOf(const HistoryOptions& options, const Context& context) {
  HistoryQuery query{.key = options.key.value_or(std::string(kAllKeys)), .owner = options.owner};
  if (NamesSeveral(options)) {
    if (query.key != kAllKeys) query.match = query.key;
    query.key = kAllKeys;
  }
  query.events = options.events;
  auto since = TimeFor("--since", options.since, context);
  if (!since) return since.failure();
  auto until = TimeFor("--until", options.until, context);
  if (!until) return until.failure();
  query.since = std::move(*since);
  query.until = std::move(*until);
  query.count = options.count.value_or(options.follows ? kEventsBeforeFollowing : kEventsDefault);
  query.before = options.before.value_or(0);
  return query;
}

void PrintHistory(const HistoryOptions& options, const HistoryPage& page, const Context& context) {
  if (page.events.empty()) {
    const std::string known = ShowKnownSince(page);
    context.Print("No known events of " +
                  context.out.Printable(options.key.value_or(std::string(kAllKeys))) +
                  (known.empty() ? "" : "; " + known) + ".\n");
    return;
  }
  context.Print(HistoryText(page.events, NamesSeveral(options), context.out));
  if (!page.next_before && !page.next_until) {
    if (HasForgotten(page)) context.Say(ShowKnownSince(page));
    return;
  }
  const std::string next = page.next_before ? "--before " + std::to_string(*page.next_before)
                                            : "--until " + std::to_string(*page.next_until);
  context.Say("there are more events: " + next +
              " shows earlier ones, --count N shows more at once");
}

// Knows which events were shown. The time of an event is not quite the same in each reply, because
// the server adds the difference between two clocks to it.
class ShownEvents {
 public:
  static constexpr DurationMs kSlackMs = 200;

  // Returns the events that were not shown, oldest first.
  std::vector<protocol::Reply> TakeNew(const HistoryPage& page) {
    std::vector<protocol::Reply> found;
    for (const protocol::Reply& event : std::views::reverse(page.events)) {
      const std::int64_t at = IntegerOr(event, "at");
      if (at < from()) continue;
      const auto [place, is_new] = shown_.emplace(NameOf(event), at);
      const bool is_same = !is_new && std::abs(at - place->second) <= kSlackMs;
      if (!is_same) found.push_back(event);
      place->second = at;
      newest_at_ = std::max(newest_at_, at);
    }
    std::erase_if(shown_, [&](const auto& entry) { return entry.second < from() - kSlackMs; });
    return found;
  }
  bool empty() const { return newest_at_ == 0; }
  // An event that was not shown is not older than this.
  std::int64_t from() const { return newest_at_ - kSlackMs; }

 private:
  // A name that differs between any two events within kSlackMs.
  static std::string NameOf(const protocol::Reply& event) {
    std::string name = std::to_string(IntegerOr(event, "token")) + " " +
                       std::to_string(IntegerOr(event, "holder_token"));
    for (const std::string_view field : {"event", "key", "owner", "reason"}) {
      name.append(1, '\0').append(TextField(event, field));
    }
    return name;
  }

  std::int64_t newest_at_ = 0;
  std::map<std::string, std::int64_t> shown_;  // and their times
};

bool PrintEach(const HistoryOptions& options, const std::vector<protocol::Reply>& events,
               const Context& context) {
  return std::ranges::all_of(events, [&](const protocol::Reply& event) {
    return options.is_json ? context.PrintJson(json::ObjectOf(event))
                           : context.Print(HistoryLine(event, context.out));
  });
}

// Prints events as they happen. It asks again and again, because the messages on channels do not
// say who broke a lock and why.
Result<int> FollowHistory(const HistoryOptions& options, HistoryQuery query, FleetLeaders& leaders,
                          const Context& context) {
  const TimeMs end = options.follow_ms ? NowMs() + *options.follow_ms : kForever;
  const auto first_count = static_cast<std::size_t>(query.count);
  ShownEvents shown;
  for (bool is_first = true;; is_first = false) {
    // More are asked for than shown, to learn which have happened before.
    query.count = kEventsMax;
    if (shown.empty() && is_first) query.count = static_cast<std::int64_t>(first_count) + 1000;
    const Result<HistoryPage> page = FetchHistory(leaders, query);
    if (!page) return page.failure();
    std::vector<protocol::Reply> events = shown.TakeNew(*page);
    if (is_first && events.size() > first_count) {
      events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(first_count));
    }
    if (!is_first && page->next_before) context.Say("too many events at once; some are left out");
    if (!PrintEach(options, events, context) || NowMs() >= end) return kExitDone;
    std::this_thread::sleep_for(kFollowPause);
    if (!shown.empty()) query.since = std::to_string(shown.from());
  }
}

Result<int> ShowFile(const HistoryOptions& options, Context& context) {
  if (options.follows || options.before) {
    return WrongUse("--file shows what is in a file: give neither --follow nor --before");
  }
  const auto since = MomentOf("--since", options.since, 0, context);
  if (!since) return since.failure();
  const auto until = MomentOf("--until", options.until, INT64_MAX, context);
  if (!until) return until.failure();
  HistoryFilter filter{.database = context.settings.database_or_first(),
                       .key = options.key.value_or(std::string(kAllKeys)),
                       .is_glob = NamesSeveral(options),
                       .owner = options.owner,
                       .since = *since,
                       .until = *until};
  std::istringstream names(options.events.value_or(""));
  for (std::string name; std::getline(names, name, ',');) filter.events.push_back(name);
  auto events = ReadHistoryFiles(*options.file, filter, options.count.value_or(kEventsDefault));
  if (!events) return events.failure();
  HistoryPage page;
  page.events = std::move(*events);
  if (options.is_json) {
    context.PrintJson(ObjectOf(page));
  } else {
    PrintHistory(options, page, context);
  }
  return kExitDone;
}

Result<int> ShowHistory(const HistoryOptions& options, Context& context) {
  if (options.file) return ShowFile(options, context);
  if (options.follows && (options.before || options.until)) {
    return WrongUse("--follow has no end: give neither --before nor --until");
  }
  const Result<HistoryQuery> query = QueryOf(options, context);
  if (!query) return query.failure();
  // The leader of its partition has the history of a key, and the client is redirected to it.
  Result<FleetLeaders> leaders =
      query->key == kAllKeys ? context.FindLeaders() : FleetLeaders(context.client);
  if (!leaders) return leaders.failure();
  if (leaders->is_several() && options.before) {
    return WrongUse(
        "--before needs a KEY in a fleet of several partitions, because each numbers its "
        "own events; give --until");
  }
  if (leaders->is_several() && options.follows) {
    return WrongUse(
        "--follow needs a KEY in a fleet of several partitions; `watch` shows the events of all");
  }
  if (options.follows) return FollowHistory(options, *query, *leaders, context);
  const Result<HistoryPage> page = FetchHistory(*leaders, *query);
  if (!page) return page.failure();
  if (options.is_json) {
    boost::json::object object = ObjectOf(*page);
    AddFailed(object, *leaders);
    context.PrintJson(object);
  } else {
    PrintHistory(options, *page, context);
  }
  return context.Conclude(*leaders, kExitDone);
}

Action DescribeHistory(Arguments& arguments) {
  auto options = std::make_shared<HistoryOptions>();
  arguments.Optional("KEY|GLOB", options->key,
                     "Name of the lock, or a glob with * ? [a-z]; all locks if it is not given");
  arguments.Flag("--exact", options->is_exact, "Take the name literally, not as a glob");
  arguments.Text("--owner,-o", options->owner, "Only events of this owner");
  arguments.Text("--event,-e", options->events, "Only these events, as in expired,broken,denied");
  arguments.Text("--since", options->since,
                 "Earliest time: 2h (ago), 20:06, '2026-11-27 20:06:20', today, yesterday");
  arguments.Text("--until", options->until, "Latest time, in the same forms");
  arguments.Number("--before", options->before, {0, kNumberMax},
                   "Only events before this number, which the previous page printed");
  arguments.Number("--count,-n", options->count, {1, kEventsMax},
                   "Maximum number of events (50; with -f, 10 to begin with)");
  arguments.Flag("--follow,-f", options->follows, "Go on with new events as they happen");
  arguments.Duration("--for", options->follow_ms, "With -f: stop after this time");
  arguments.Text("--file", options->file,
                 "Read this history_file of a server, and the renamed ones beside it, instead of "
                 "asking a server");
  arguments.Flag("--json", options->is_json, "As JSON, newest first; with -f, one event per line");
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
    {"history", kInspecting, "Lists past events of a key, of all keys, or of those that match",
     DescribeHistory},
    {"stats", kInspecting, "Shows counts, waits and holds by label", DescribeStats},
});

}  // namespace

std::span<const CommandRow> HistoryCommands() { return kHistoryCommands; }

}  // namespace fairlock::cli
