// `limit`, `drain`, `resume`: an operator's override of how many owners may hold a lock.
#include <algorithm>
#include <array>
#include <memory>

#include "cli/commands/all_commands.h"
#include "cli/connection/reply_fields.h"
#include "cli/output/duration.h"
#include "cli/output/table.h"
#include "cli/views/lock_walk.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr std::int64_t kOverrideMax = 1'000'000;

struct LimitOptions {
  std::string pattern;
  std::int64_t limit = 0;
  std::optional<DurationMs> duration_ms;
  std::optional<std::string> reason;
  bool is_json = false;
};

// Returns an object with the pattern and the database that it applies to.
boost::json::object ObjectOf(const LimitOptions& options, const Context& context) {
  boost::json::object object;
  json::AddText(object, "pattern", options.pattern);
  object["db"] = context.settings.database_or_first();
  return object;
}

Result<int> Change(const LimitOptions& options, FleetLeaders& leaders) {
  const std::string limit = std::to_string(options.limit);
  std::vector<std::string_view> words = {"LIMIT", "SET", options.pattern, limit};
  const std::string seconds = std::to_string(options.duration_ms.value_or(0) / 1000);
  if (options.duration_ms) words.insert(words.end(), {"EX", seconds});
  if (options.reason) words.insert(words.end(), {"REASON", *options.reason});
  const auto replies = leaders.AskAll(words);
  if (!replies) return replies.failure();
  return kExitDone;
}

Result<int> Set(const LimitOptions& options, Context& context) {
  Result<FleetLeaders> leaders = context.FindLeaders();
  if (!leaders) return leaders.failure();
  const Result<int> done = Change(options, *leaders);
  if (!done) return done;
  if (options.is_json) {
    boost::json::object object = ObjectOf(options, context);
    object["limit"] = options.limit;
    AddFailed(object, *leaders);
    context.PrintJson(object);
  }
  return context.Conclude(*leaders, kExitDone);
}

// An override counts as deleted once, on however many leaders it was in force.
void PrintDeleted(const LimitOptions& options, bool is_deleted, const FleetLeaders& leaders,
                  const Context& context) {
  if (!options.is_json) return;
  boost::json::object object = ObjectOf(options, context);
  object["deleted"] = is_deleted ? 1 : 0;
  AddFailed(object, leaders);
  context.PrintJson(object);
}

Result<int> DeleteOn(FleetLeaders& leaders, const LimitOptions& options, const Context& context) {
  const std::vector<std::string_view> words = {"LIMIT", "DEL", options.pattern};
  const auto replies = leaders.AskAll(words);
  if (!replies) return replies.failure();
  const bool is_deleted =
      std::ranges::any_of(*replies, [](const auto& answer) { return answer.reply.integer != 0; });
  PrintDeleted(options, is_deleted, leaders, context);
  if (is_deleted) return context.Conclude(leaders, kExitDone);
  context.Say("there is no override for " + context.errors.Quoted(options.pattern) +
              " in database " + std::to_string(context.settings.database_or_first()) +
              "; `fairlockctl limit list` lists them");
  return context.Conclude(leaders, kExitNo);
}

Result<int> Delete(const LimitOptions& options, Context& context) {
  Result<FleetLeaders> leaders = context.FindLeaders();
  if (!leaders) return leaders.failure();
  return DeleteOn(*leaders, options, context);
}

// One override, and the partitions where it is in force.
struct OverrideRow {
  protocol::Reply map;  // as the first of these partitions reports it
  std::vector<std::size_t> partitions;
};

bool IsSameOverride(const protocol::Reply& a, const protocol::Reply& b) {
  return TextField(a, "pattern") == TextField(b, "pattern") &&
         IntegerOr(a, "db") == IntegerOr(b, "db") && IntegerOr(a, "limit") == IntegerOr(b, "limit");
}

// Keeps the order of each server, which lists the most specific pattern first.
Result<std::vector<OverrideRow>> FetchOverrides(FleetLeaders& leaders) {
  constexpr auto kRequest = std::to_array<std::string_view>({"LIMIT", "LIST"});
  const auto replies = leaders.AskAll(kRequest);
  if (!replies) return replies.failure();
  std::vector<OverrideRow> rows;
  for (const auto& [partition, reply] : *replies) {
    std::size_t next = 0;  // where a row that no other partition has is inserted
    for (const protocol::Reply& map : reply.elements) {
      const auto same = std::ranges::find_if(
          rows, [&](const OverrideRow& row) { return IsSameOverride(row.map, map); });
      if (same != rows.end()) {
        same->partitions.push_back(partition);
        next = static_cast<std::size_t>(same - rows.begin()) + 1;
      } else {
        rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(next), {map, {partition}});
        ++next;
      }
    }
  }
  return rows;
}

std::string LimitText(std::int64_t limit) { return limit == 0 ? "drained" : std::to_string(limit); }

// "all", or "0, 2".
Cell PartitionsCell(const OverrideRow& row, const FleetLeaders& leaders) {
  if (row.partitions.size() == leaders.size()) return {"all"};
  std::string text;
  for (const std::size_t partition : row.partitions) {
    text += (text.empty() ? "" : ", ") + std::to_string(partition);
  }
  return {text, Tint::kWarning};
}

std::string OverridesText(const std::vector<OverrideRow>& rows, const FleetLeaders& leaders,
                          const Screen& screen) {
  std::vector<Column> columns = {{.title = "PATTERN", .may_shrink = true},
                                 {.title = "DB", .is_right_aligned = true},
                                 {.title = "LIMIT", .is_right_aligned = true},
                                 {.title = "ENDS IN", .is_right_aligned = true},
                                 {.title = "SINCE"},
                                 {.title = "BY", .may_shrink = true},
                                 {.title = "REASON", .may_shrink = true}};
  if (leaders.is_several()) columns.push_back({.title = "PARTITIONS"});
  Table table(columns, screen);
  for (const OverrideRow& row : rows) {
    const protocol::Reply& map = row.map;
    const std::int64_t limit = IntegerOr(map, "limit");
    const auto left_ms = IntegerField(map, "left_ms");
    std::vector<Cell> cells = {
        {screen.Printable(TextField(map, "pattern"))},
        {std::to_string(IntegerOr(map, "db"))},
        {LimitText(limit), limit == 0 ? Tint::kWarning : Tint::kNone},
        {left_ms ? ShowDuration(*left_ms) : "-"},
        {ShowMoment(IntegerOr(map, "since"))},
        {screen.Printable(TextField(map, "user") + " " + TextField(map, "address"))},
        {screen.Printable(TextField(map, "reason"))}};
    if (leaders.is_several()) cells.push_back(PartitionsCell(row, leaders));
    table.Add(std::move(cells));
  }
  return table.Flush();
}

boost::json::object ObjectOf(const OverrideRow& row, const FleetLeaders& leaders) {
  boost::json::object object = json::ObjectOf(row.map);
  if (leaders.is_several()) {
    object["partitions"] = boost::json::array(row.partitions.begin(), row.partitions.end());
  }
  return object;
}

Result<int> List(const LimitOptions& options, Context& context) {
  Result<FleetLeaders> leaders = context.FindLeaders();
  if (!leaders) return leaders.failure();
  const Result<std::vector<OverrideRow>> rows = FetchOverrides(*leaders);
  if (!rows) return rows.failure();
  if (options.is_json) {
    boost::json::array array;
    for (const OverrideRow& row : *rows) array.push_back(ObjectOf(row, *leaders));
    boost::json::object object = {{"overrides", array}};
    AddFailed(object, *leaders);
    context.PrintJson(object);
  } else if (rows->empty()) {
    context.Print("No override is in force.\n");
  } else {
    context.Print(OverridesText(*rows, *leaders, context.out));
  }
  return context.Conclude(*leaders, kExitDone);
}

// Drains

struct Matching {
  std::int64_t held = 0;
  std::int64_t waited_for = 0;
};

Result<Matching> CountMatching(const std::string& glob, FleetLeaders& leaders,
                               const Context& context) {
  LockWalk walk(leaders, {.glob = glob, .database = context.settings.database_or_first()});
  Matching matching;
  while (!walk.is_over()) {
    const Result<std::vector<LockRow>> page = walk.NextPage();
    if (!page) return page.failure();
    for (const LockRow& row : *page) {
      matching.held += row.holder_count() > 0 ? 1 : 0;
      matching.waited_for += row.waiter_count() > 0 ? 1 : 0;
    }
  }
  return matching;
}

Result<int> Drain(const LimitOptions& options, Context& context) {
  Result<FleetLeaders> leaders = context.FindLeaders();
  if (!leaders) return leaders.failure();
  const Result<int> done = Change(options, *leaders);
  if (!done) return done;
  const Result<Matching> matching = CountMatching(options.pattern, *leaders, context);
  if (!matching) return matching.failure();
  if (options.is_json) {
    boost::json::object object = ObjectOf(options, context);
    object["held"] = matching->held;
    object["waited_for"] = matching->waited_for;
    AddFailed(object, *leaders);
    context.PrintJson(object);
    return context.Conclude(*leaders, kExitDone);
  }
  const std::string pattern = context.out.Printable(options.pattern);
  context.Print("No new owner gets " + pattern +
                (options.duration_ms ? " for " + ShowDuration(*options.duration_ms)
                                     : ", until `fairlockctl resume " + pattern + "`") +
                ". Keys still held: " + std::to_string(matching->held) +
                ", waited for: " + std::to_string(matching->waited_for) + ".\n");
  return context.Conclude(*leaders, kExitDone);
}

Result<int> Resume(const LimitOptions& options, Context& context) {
  Result<FleetLeaders> leaders = context.FindLeaders();
  if (!leaders) return leaders.failure();
  const Result<std::vector<OverrideRow>> rows = FetchOverrides(*leaders);
  if (!rows) return rows.failure();
  const auto row = std::ranges::find_if(*rows, [&](const OverrideRow& candidate) {
    return TextField(candidate.map, "pattern") == options.pattern &&
           IntegerOr(candidate.map, "db") == context.settings.database_or_first() &&
           IntegerOr(candidate.map, "limit") != 0;
  });
  if (row == rows->end()) return DeleteOn(*leaders, options, context);
  PrintDeleted(options, false, *leaders, context);
  context.Say(context.errors.Quoted(options.pattern) + " is not drained; its override is LIMIT " +
              std::to_string(IntegerOr(row->map, "limit")) +
              ", which `fairlockctl limit del` ends");
  return context.Conclude(*leaders, kExitNo);
}

using Run = Result<int> (*)(const LimitOptions&, Context&);

Action DescribeChange(Arguments& arguments, bool has_limit, Run run) {
  auto options = std::make_shared<LimitOptions>();
  arguments.Required("GLOB", options->pattern, "Name of a lock, or a glob with * ? [a-z]");
  if (has_limit) {
    arguments.RequiredNumber("N", options->limit, {0, kOverrideMax},
                             "How many owners may hold a key; 0 admits no new ones");
  }
  arguments.WholeSeconds("--for", options->duration_ms,
                         "End the override after this time, in whole seconds");
  arguments.Text("--reason", options->reason, "Reason, shown by `limit list`");
  arguments.Flag("--json", options->is_json, "Print JSON: the override now in force");
  return [options, run](Context& context) { return run(*options, context); };
}

Action DescribeEnd(Arguments& arguments, Run run) {
  auto options = std::make_shared<LimitOptions>();
  arguments.Required("GLOB", options->pattern, "The pattern, as it was set");
  arguments.Flag("--json", options->is_json, "Print JSON: whether there was an override");
  return [options, run](Context& context) { return run(*options, context); };
}

Action DescribeList(Arguments& arguments) {
  auto options = std::make_shared<LimitOptions>();
  arguments.Flag("--json", options->is_json, "Print JSON");
  return [options](Context& context) { return List(*options, context); };
}

constexpr auto kLimitCommands = std::to_array<CommandRow>({
    {"limit", kControlling, "Overrides the LIMITs that clients give", nullptr},
    {"limit set", kControlling, "Sets how many owners may hold each matching key",
     [](Arguments& arguments) { return DescribeChange(arguments, true, Set); }},
    {"limit del", kControlling, "Ends an override: the LIMITs of clients apply again",
     [](Arguments& arguments) { return DescribeEnd(arguments, Delete); }},
    {"limit list", kControlling, "Lists the overrides in all databases", DescribeList},
    {"drain", kControlling, "Admits no new owners to the matching keys",
     [](Arguments& arguments) { return DescribeChange(arguments, false, Drain); }},
    {"resume", kControlling, "Ends a drain: waiters are granted locks again",
     [](Arguments& arguments) { return DescribeEnd(arguments, Resume); }},
});

}  // namespace

std::span<const CommandRow> LimitCommands() { return kLimitCommands; }

}  // namespace fairlock::cli
