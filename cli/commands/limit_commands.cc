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

Result<int> Change(const LimitOptions& options, Context& context) {
  const std::string limit = std::to_string(options.limit);
  std::vector<std::string_view> words = {"LIMIT", "SET", options.pattern, limit};
  const std::string seconds = std::to_string(options.duration_ms.value_or(0) / 1000);
  if (options.duration_ms) words.insert(words.end(), {"EX", seconds});
  if (options.reason) words.insert(words.end(), {"REASON", *options.reason});
  const Result<protocol::Reply> reply = context.client.Ask(words);
  if (!reply) return reply.failure();
  return kExitDone;
}

Result<int> Set(const LimitOptions& options, Context& context) {
  const Result<int> done = Change(options, context);
  if (!done || !options.is_json) return done;
  boost::json::object object = ObjectOf(options, context);
  object["limit"] = options.limit;
  context.PrintJson(object);
  return done;
}

Result<int> Delete(const LimitOptions& options, Context& context) {
  const Result<protocol::Reply> reply = context.client.Ask({"LIMIT", "DEL", options.pattern});
  if (!reply) return reply.failure();
  if (options.is_json) {
    boost::json::object object = ObjectOf(options, context);
    object["deleted"] = reply->integer;
    context.PrintJson(object);
  }
  if (reply->integer != 0) return kExitDone;
  context.Say("there is no override for " + context.errors.Quoted(options.pattern) +
              " in database " + std::to_string(context.settings.database_or_first()) +
              "; `fairlockctl limit list` lists them");
  return kExitNo;
}

std::string LimitText(std::int64_t limit) { return limit == 0 ? "drained" : std::to_string(limit); }

std::string OverridesText(const protocol::Reply& rows, const Screen& screen) {
  Table table({{.title = "PATTERN", .may_shrink = true},
               {.title = "DB", .is_right_aligned = true},
               {.title = "LIMIT", .is_right_aligned = true},
               {.title = "ENDS IN", .is_right_aligned = true},
               {.title = "SINCE"},
               {.title = "BY", .may_shrink = true},
               {.title = "REASON", .may_shrink = true}},
              screen);
  for (const protocol::Reply& row : rows.elements) {
    const std::int64_t limit = IntegerOr(row, "limit");
    const auto left_ms = IntegerField(row, "left_ms");
    table.Add({{screen.Printable(TextField(row, "pattern"))},
               {std::to_string(IntegerOr(row, "db"))},
               {LimitText(limit), limit == 0 ? Tint::kWarning : Tint::kNone},
               {left_ms ? ShowDuration(*left_ms) : "-"},
               {ShowMoment(IntegerOr(row, "since"))},
               {screen.Printable(TextField(row, "user") + " " + TextField(row, "address"))},
               {screen.Printable(TextField(row, "reason"))}});
  }
  return table.Flush();
}

Result<int> List(const LimitOptions& options, Context& context) {
  const Result<protocol::Reply> rows = context.client.Ask({"LIMIT", "LIST"});
  if (!rows) return rows.failure();
  if (options.is_json) {
    boost::json::array array;
    for (const protocol::Reply& row : rows->elements) array.push_back(json::ObjectOf(row));
    context.PrintJson(boost::json::object{{"overrides", array}});
  } else if (rows->elements.empty()) {
    context.Print("No override is in force.\n");
  } else {
    context.Print(OverridesText(*rows, context.out));
  }
  return kExitDone;
}

// Drains

struct Matching {
  std::int64_t held = 0;
  std::int64_t waited_for = 0;
};

Result<Matching> CountMatching(const std::string& glob, Context& context) {
  LockWalk walk(context.client, {.glob = glob, .database = context.settings.database_or_first()});
  Matching matching;
  while (!walk.is_over()) {
    const Result<std::vector<LockRow>> page = walk.NextPage();
    if (!page) return page.failure();
    for (const LockRow& row : *page) {
      matching.held += row.holder_count > 0 ? 1 : 0;
      matching.waited_for += row.waiter_count > 0 ? 1 : 0;
    }
  }
  return matching;
}

Result<int> Drain(const LimitOptions& options, Context& context) {
  const Result<int> done = Change(options, context);
  if (!done) return done;
  const Result<Matching> matching = CountMatching(options.pattern, context);
  if (!matching) return matching.failure();
  if (options.is_json) {
    boost::json::object object = ObjectOf(options, context);
    object["held"] = matching->held;
    object["waited_for"] = matching->waited_for;
    context.PrintJson(object);
    return kExitDone;
  }
  const std::string pattern = context.out.Printable(options.pattern);
  context.Print("No new owner gets " + pattern +
                (options.duration_ms ? " for " + ShowDuration(*options.duration_ms)
                                     : ", until `fairlockctl resume " + pattern + "`") +
                ". Keys still held: " + std::to_string(matching->held) +
                ", waited for: " + std::to_string(matching->waited_for) + ".\n");
  return kExitDone;
}

Result<int> Resume(const LimitOptions& options, Context& context) {
  const Result<protocol::Reply> rows = context.client.Ask({"LIMIT", "LIST"});
  if (!rows) return rows.failure();
  const auto row = std::ranges::find_if(rows->elements, [&](const protocol::Reply& candidate) {
    return TextField(candidate, "pattern") == options.pattern &&
           IntegerOr(candidate, "db") == context.settings.database_or_first();
  });
  if (row != rows->elements.end() && IntegerOr(*row, "limit") != 0) {
    if (options.is_json) {
      boost::json::object object = ObjectOf(options, context);
      object["deleted"] = 0;
      context.PrintJson(object);
    }
    context.Say(context.errors.Quoted(options.pattern) + " is not drained; its override is LIMIT " +
                std::to_string(IntegerOr(*row, "limit")) + ", which `fairlockctl limit del` ends");
    return kExitNo;
  }
  return Delete(options, context);
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
