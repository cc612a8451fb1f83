// Commands that show the history of locks, and statistics.

#include <array>
#include <string>
#include <vector>

#include "server/command/handlers/command_costs.h"
#include "server/command/handlers/command_families.h"
#include "server/command/locks/event_names.h"
#include "server/command/locks/lock_message.h"
#include "server/command/locks/lock_replies.h"
#include "server/command/server_parts.h"
#include "server/command/table/argument_reader.h"
#include "server/command/table/glob_walk.h"
#include "server/command/table/text.h"
#include "server/record/duration_histogram.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

constexpr std::int64_t kEventsShownMax = 10'000;

enum RecordOption : std::uint32_t {
  kOwnerAsked = 1U << 0,
  kSinceAsked = 1U << 1,
  kUntilAsked = 1U << 2,
  kCountAsked = 1U << 3,
  kLabelAsked = 1U << 4,
  kMinutesAsked = 1U << 5,
  kByAsked = 1U << 6,
  kBeforeAsked = 1U << 7,
  kMatchAsked = 1U << 8,
  kEventAsked = 1U << 9,
};

void TextField(protocol::ReplyWriter& reply, std::string_view name, std::string_view text) {
  reply.Bulk(name);
  if (text.empty()) {
    reply.Null();
  } else {
    reply.Bulk(text);
  }
}

void TokenField(protocol::ReplyWriter& reply, std::string_view name, engine::Token token) {
  reply.Bulk(name);
  if (token == 0) {
    reply.Null();
  } else {
    reply.Integer(static_cast<std::int64_t>(token));
  }
}

void TimeField(Invocation& call, std::string_view name, const std::optional<engine::TimeMs>& at) {
  call.reply.Bulk(name);
  if (at) {
    call.reply.Integer(call.server.unix_time.MsOf(*at, call.now));
  } else {
    call.reply.Null();
  }
}

// Reads the key; returns nullopt for `*`.
std::optional<engine::KeyName> ReadKeyOrAll(Invocation& call, ArgumentReader& arguments) {
  if (arguments.Take("*")) return std::nullopt;
  engine::KeyName key = arguments.Key(call.key);
  if (key.hash == 0) key.hash = call.server.locks.engine().Prefetch(key);
  return key;
}

std::string_view ReadMatch(ArgumentReader& arguments) {
  const std::string_view glob = arguments.Next("MATCH");
  std::string mistake = DescribeLongGlob("MATCH", glob);
  if (!mistake.empty()) arguments.Fail(std::move(mistake));
  return glob;
}

record::EventKinds ReadEvents(ArgumentReader& arguments) {
  const std::string_view names = arguments.Next("EVENT");
  const auto kinds = EventKindsIn(names);
  if (kinds && !names.empty()) return *kinds;
  arguments.Fail("EVENT is " + Quoted(names) +
                 "; allowed values, separated by commas: " + AllEventNames());
  return record::EventKinds::All();
}

record::HistoryQuery ReadHistoryQuery(Invocation& call, ArgumentReader& arguments) {
  const std::int64_t unix_now_ms = call.server.unix_time.MsOf(call.now, call.now);
  record::HistoryQuery query;
  query.db = call.client.profile.database;
  query.key = ReadKeyOrAll(call, arguments);
  std::uint32_t seen = 0;
  while (arguments.has_more()) {
    if (arguments.TakeOnce("OWNER", kOwnerAsked, seen)) {
      query.owner = arguments.Owner("OWNER");
    } else if (arguments.TakeOnce("MATCH", kMatchAsked, seen)) {
      query.match = ReadMatch(arguments);
    } else if (arguments.TakeOnce("EVENT", kEventAsked, seen)) {
      query.kinds = ReadEvents(arguments);
    } else if (arguments.TakeOnce("SINCE", kSinceAsked, seen)) {
      query.since = arguments.Moment("SINCE", call.now, unix_now_ms);
    } else if (arguments.TakeOnce("UNTIL", kUntilAsked, seen)) {
      query.until = arguments.Moment("UNTIL", call.now, unix_now_ms);
    } else if (arguments.TakeOnce("COUNT", kCountAsked, seen)) {
      query.count_max = static_cast<std::size_t>(arguments.Integer("COUNT", 1, kEventsShownMax));
    } else if (arguments.TakeOnce("BEFORE", kBeforeAsked, seen)) {
      query.before = static_cast<std::uint64_t>(arguments.Integer("BEFORE", 0, engine::kTokenMax));
    } else {
      arguments.FailUnknownOption("OWNER, MATCH, EVENT, SINCE, UNTIL, COUNT or BEFORE");
    }
  }
  if (query.key && !query.match.empty()) arguments.Fail("MATCH needs * in place of the key");
  return query;
}

void WritePastEvent(Invocation& call, const record::PastEvent& event) {
  protocol::ReplyWriter& reply = call.reply;
  reply.MapHeader(17);
  IntegerField(reply, "at", call.server.unix_time.MsOf(event.at, call.now));
  reply.Bulk("event");
  reply.Bulk(EventName(event.kind));
  reply.Bulk("key");
  reply.Bulk(event.key.bytes);
  TextField(reply, "owner", event.owner);
  TokenField(reply, "token", event.token);
  TextField(reply, "reason", EventReason(event.kind, event.reason));
  TextField(reply, "holder", event.other);
  TokenField(reply, "holder_token", event.other_token);
  IntegerField(reply, "waited_ms", event.waited_ms);
  IntegerField(reply, "held_ms", event.held_ms);
  IntegerField(reply, "count", event.count);
  IntegerField(reply, "last_at", call.server.unix_time.MsOf(event.last_at, call.now));
  TextField(reply, "by", event.by);
  TextField(reply, "comment", event.comment);
  IntegerField(reply, "db", event.key.db);
  IntegerField(reply, "grace_ms", event.grace_ms);
  TextField(reply, "source", record::SourceName(event));
}

void RefuseOff(Invocation& call, std::string_view what, std::string_view option) {
  call.reply.Error(ErrorCode::kErr, std::string(what) + ": " + std::string(option) +
                                        " is 0, so nothing is kept; set it to another value "
                                        "and restart");
}

void History(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  const record::HistoryQuery query = ReadHistoryQuery(call, arguments);
  if (!arguments.Finish(call.reply)) return;
  record::History* history = call.server.recorder.history();
  if (history == nullptr) return RefuseOff(call, "HISTORY", "history_memory");
  if (RefusesCost(call)) return;
  // Expires overdue holds and waits of the key first, so that the history includes them.
  if (query.key) {
    call.server.locks.engine().inspection().CountHolders(*query.key,
                                                         call.server.locks.StepAt(call.now));
  }
  record::HistoryPage page = history->Search(query);
  const record::KnownSince known = history->known_since();
  AddLiveEvents(call.server.locks.engine(), query, known, call.server.locks.StepAt(call.now), page);
  call.reply.MapHeader(7);
  TimeField(call, "oldest", history->oldest_at());
  TimeField(call, "next_until", page.next_until);
  call.reply.Bulk("events");
  call.reply.ArrayHeader(page.events.size());
  for (const record::PastEvent& event : page.events) WritePastEvent(call, event);
  TokenField(call.reply, "next_before", page.next_before.value_or(0));
  TimeField(call, "complete_since", known.all());
  TimeField(call, "rare_since", known.rare);
  TimeField(call, "denied_since", known.denied);
}

void WriteDurations(protocol::ReplyWriter& reply, const std::string& name,
                    const record::DurationHistogram<std::uint64_t>& durations) {
  const bool is_any = durations.CountAll() > 0;
  const auto write = [&](std::string_view end, engine::DurationMs duration_ms) {
    reply.Bulk(name + std::string(end));
    if (is_any) {
      reply.Integer(duration_ms);
    } else {
      reply.Null();
    }
  };
  for (const record::Quantile& quantile : record::kQuantiles)
    write(quantile.name, durations.Quantile(quantile.part));
  write("_max_ms", durations.longest_ms());
}

void WriteRow(Invocation& call, protocol::ReplyWriter& reply, const record::StatisticsRow& row) {
  reply.MapHeader(2 + record::kCounterNames.size() + 2 * (record::kQuantiles.size() + 1));
  TextField(reply, "label", row.label);
  IntegerField(reply, "since", call.server.unix_time.MsOf(row.since, call.now));
  for (std::size_t i = 0; i < record::kCounterNames.size(); ++i) {
    IntegerField(reply, record::kCounterNames[i], static_cast<std::int64_t>(row.counts.counts[i]));
  }
  WriteDurations(reply, "wait", row.counts.waits);
  WriteDurations(reply, "hold", row.counts.holds);
}

record::StatisticsQuery ReadStatisticsQuery(ArgumentReader& arguments) {
  record::StatisticsQuery query;
  std::uint32_t seen = 0;
  while (arguments.has_more()) {
    if (arguments.TakeOnce("LABEL", kLabelAsked, seen)) {
      query.label = arguments.Label();
    } else if (arguments.TakeOnce("MINUTES", kMinutesAsked, seen)) {
      query.minutes =
          static_cast<int>(arguments.Integer("MINUTES", 1, record::LabelStatistics::kMinutesMax));
    } else if (arguments.TakeOnce("BY", kByAsked, seen)) {
      const std::string_view unit = arguments.Next("BY");
      if (!EqualsIgnoreCase(unit, "MINUTE")) {
        arguments.Fail("BY must be MINUTE, got " + Quoted(unit));
      }
      query.is_by_minute = true;
    } else {
      arguments.FailUnknownOption("LABEL, MINUTES or BY MINUTE");
    }
  }
  return query;
}

void Stats(Invocation& call) {
  ArgumentReader arguments(call.arguments);
  const record::StatisticsQuery query = ReadStatisticsQuery(arguments);
  if (!arguments.Finish(call.reply)) return;
  const record::LabelStatistics* statistics = call.server.recorder.statistics();
  if (statistics == nullptr) return RefuseOff(call, "STATS", "stats_labels");
  if (RefusesCost(call)) return;
  // Counts first, because the reply needs the count before the first element.
  std::size_t count = 0;
  statistics->Read(query, call.now, [&](const record::StatisticsRow&) { ++count; });
  call.reply.MapHeader(2);
  TimeField(call, "complete_since", statistics->complete_since());
  call.reply.Bulk("labels");
  call.reply.ArrayHeader(count);
  statistics->Read(query, call.now,
                   [&](const record::StatisticsRow& row) { WriteRow(call, call.reply, row); });
}

constexpr auto kRecordCommands = std::to_array<CommandSpec>({
    {"HISTORY",
     History,
     -2,
     kReadOnly,
     {1, 1, 1},
     "lock",
     "key [OWNER owner] [MATCH glob] [EVENT events] [SINCE time] [UNTIL time] [COUNT count] "
     "[BEFORE number]",
     "Past events for a key, or for all keys (*), or those that match, newest first",
     "O(COUNT); at most 10,000 events are examined"},
    {"STATS",
     Stats,
     -1,
     kReadOnly,
     {},
     "lock",
     "[LABEL name] [MINUTES n] [BY MINUTE]",
     "Event counts, wait times and hold times by label; for the last hour unless MINUTES is given",
     "O(labels * minutes)"},
});

}  // namespace

std::span<const CommandSpec> RecordCommands() { return kRecordCommands; }

}  // namespace fairlock::command
