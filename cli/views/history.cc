#include "cli/views/history.h"

#include <algorithm>
#include <array>
#include <functional>
#include <ranges>

#include "cli/connection/reply_fields.h"
#include "cli/output/duration.h"
#include "cli/output/moment.h"
#include "cli/output/table.h"
#include "json/reply_json.h"
#include "text/local_time.h"

namespace fairlock::cli {

namespace {

// The server's maximum for one reply.
constexpr std::int64_t kEventsPerPage = 10'000;

std::vector<std::string> RequestOf(const HistoryQuery& query, std::int64_t count) {
  std::vector<std::string> words = {"HISTORY", query.key};
  if (query.owner) words.insert(words.end(), {"OWNER", *query.owner});
  if (query.match) words.insert(words.end(), {"MATCH", *query.match});
  if (query.events) words.insert(words.end(), {"EVENT", *query.events});
  if (query.since) words.insert(words.end(), {"SINCE", *query.since});
  if (query.until) words.insert(words.end(), {"UNTIL", *query.until});
  words.insert(words.end(), {"COUNT", std::to_string(std::min(count, kEventsPerPage))});
  // Usually requests pages by event number, because a page requested by time may exceed COUNT: it
  // contains all events of the same millisecond.
  if (!query.is_by_time) words.insert(words.end(), {"BEFORE", std::to_string(query.before)});
  return words;
}

std::string ShowTimes(const protocol::Reply& event, std::string_view field) {
  const std::int64_t duration_ms = IntegerOr(event, field);
  return duration_ms > 0 ? ShowDuration(duration_ms) : "-";
}

}  // namespace

Result<HistoryPage> FetchHistory(Client& client, HistoryQuery query) {
  HistoryPage page;
  while (static_cast<std::int64_t>(page.events.size()) < query.count) {
    const auto known = static_cast<std::int64_t>(page.events.size());
    const std::vector<std::string> words = RequestOf(query, query.count - known);
    Result<protocol::Reply> reply =
        client.Ask(std::vector<std::string_view>(words.begin(), words.end()));
    if (!reply) return reply.failure();
    page.oldest_unix_ms = IntegerField(*reply, "oldest");
    page.next_until = IntegerField(*reply, "next_until");
    if (const protocol::Reply* const events = FindField(*reply, "events")) {
      page.events.insert(page.events.end(), events->elements.begin(), events->elements.end());
    }
    page.next_before = IntegerField(*reply, "next_before");
    page.complete_since = IntegerField(*reply, "complete_since");
    page.rare_since = IntegerField(*reply, "rare_since");
    page.denied_since = IntegerField(*reply, "denied_since");
    if (!page.next_before || !page.next_until) break;
    query.before = *page.next_before;
    if (query.is_by_time) query.until = std::to_string(*page.next_until);
  }
  return page;
}

HistoryPage MergedHistory(const std::vector<HistoryPage>& pages, std::int64_t count) {
  const auto at = [](const protocol::Reply& event) { return IntegerOr(event, "at"); };
  HistoryPage merged;
  for (const HistoryPage& page : pages) {
    merged.events.insert(merged.events.end(), page.events.begin(), page.events.end());
    if (page.oldest_unix_ms) {
      merged.oldest_unix_ms =
          std::min(*page.oldest_unix_ms, merged.oldest_unix_ms.value_or(*page.oldest_unix_ms));
    }
    merged.next_until = std::max(merged.next_until, page.next_until);
    merged.complete_since = std::max(merged.complete_since, page.complete_since);
    merged.rare_since = std::max(merged.rare_since, page.rare_since);
    merged.denied_since = std::max(merged.denied_since, page.denied_since);
  }
  std::ranges::stable_sort(merged.events, std::greater(), at);
  if (static_cast<std::int64_t>(merged.events.size()) <= count) return merged;
  const std::int64_t last_at = at(merged.events[static_cast<std::size_t>(count) - 1]);
  const auto end =
      std::ranges::find_if(merged.events, [&](const auto& event) { return at(event) < last_at; });
  if (end == merged.events.end()) return merged;
  merged.events.erase(end, merged.events.end());
  merged.next_until = last_at - 1;
  return merged;
}

Result<HistoryPage> FetchHistory(FleetLeaders& leaders, HistoryQuery query) {
  query.is_by_time = leaders.is_several();
  std::vector<HistoryPage> pages;
  for (std::size_t partition = 0; partition < leaders.size(); ++partition) {
    if (leaders.leader(partition).failure) continue;
    Result<HistoryPage> page = FetchHistory(*leaders.leader(partition).client, query);
    if (page) {
      pages.push_back(std::move(*page));
    } else {
      leaders.Fail(partition, page.failure());
    }
  }
  if (const auto failure = leaders.TotalFailure()) return *failure;
  if (!leaders.is_several()) return pages.front();
  return MergedHistory(pages, query.count);
}

bool HasForgotten(const HistoryPage& page) {
  return page.complete_since && page.oldest_unix_ms && *page.oldest_unix_ms < *page.complete_since;
}

std::string ShowKnownSince(const HistoryPage& page) {
  if (!page.complete_since) return "";
  std::string text = "not all events before " + text::LogTime(*page.complete_since) + " are known";
  const auto add = [&](std::string_view what, const std::optional<std::int64_t>& since) {
    if (!since || *since >= *page.complete_since) return;
    text.append("; ").append(what).append(" are since ") += text::LogTime(*since);
  };
  add("expired, broken and others that went wrong", page.rare_since);
  add("denied ones", page.denied_since);
  return text;
}

std::string ShowEventDetails(const protocol::Reply& event, const Screen& screen) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const std::string reason = TextField(event, "reason");
  const std::string holder = TextField(event, "holder");
  const std::string by = TextField(event, "by");
  const std::string comment = TextField(event, "comment");
  if (!reason.empty()) add(screen.Printable(reason));
  if (!holder.empty()) add("holder " + screen.Printable(holder));
  if (IntegerOr(event, "count", 1) > 1) {
    add(std::to_string(IntegerOr(event, "count")) + " times, last " +
        text::LogTime(IntegerOr(event, "last_at")));
  }
  if (!by.empty()) add("by " + screen.Printable(by));
  if (!comment.empty()) add(screen.Quoted(comment));
  const std::int64_t grace_ms = IntegerOr(event, "grace_ms");
  if (grace_ms > 0) add("within " + ShowDuration(grace_ms));
  if (TextField(event, "source") == "lock") add("says the lock");
  return text;
}

Tint TintOfEvent(std::string_view event) {
  constexpr auto kBad =
      std::to_array<std::string_view>({"expired", "broken", "disconnected", "undone", "refused"});
  constexpr auto kWarning =
      std::to_array<std::string_view>({"denied", "timeout", "cancelled", "lapsed", "leaving"});
  if (event == "granted") return Tint::kGood;
  if (std::ranges::find(kBad, event) != kBad.end()) return Tint::kBad;
  return std::ranges::find(kWarning, event) != kWarning.end() ? Tint::kWarning : Tint::kNone;
}

std::string HistoryText(const std::vector<protocol::Reply>& events, bool has_keys,
                        const Screen& screen) {
  std::vector<Column> columns = {{.title = "AT"}, {.title = "EVENT"}};
  if (has_keys) columns.push_back({.title = "KEY", .may_shrink = true});
  columns.push_back({.title = "OWNER", .may_shrink = true});
  columns.push_back({.title = "TOKEN", .is_right_aligned = true, .drop_order = 1});
  columns.push_back({.title = "WAITED", .is_right_aligned = true, .drop_order = 4});
  columns.push_back({.title = "HELD", .is_right_aligned = true, .drop_order = 3});
  columns.push_back({.title = "DETAILS", .may_shrink = true, .drop_order = 2});
  Table table(columns, screen);
  for (const protocol::Reply& event : std::views::reverse(events)) {
    const std::string name = screen.Printable(TextField(event, "event"));
    const auto token = IntegerField(event, "token");
    std::vector<Cell> cells = {{text::LogTime(IntegerOr(event, "at"))}, {name, TintOfEvent(name)}};
    if (has_keys) cells.push_back({screen.Printable(TextField(event, "key"))});
    cells.push_back({screen.Printable(TextField(event, "owner"))});
    cells.push_back({token ? std::to_string(*token) : "-"});
    cells.push_back({ShowTimes(event, "waited_ms")});
    cells.push_back({ShowTimes(event, "held_ms")});
    cells.push_back({ShowEventDetails(event, screen)});
    table.Add(std::move(cells));
  }
  return table.Flush();
}

std::string HistoryLine(const protocol::Reply& event, const Screen& screen) {
  constexpr std::size_t kNameWidth = 12;
  std::string name = screen.Printable(TextField(event, "event"));
  const Tint tint = TintOfEvent(name);
  name.resize(std::max(name.size(), kNameWidth), ' ');
  std::string line = text::LogTime(IntegerOr(event, "at")) + "  " + screen.Tinted(name, tint) +
                     "  " + screen.Printable(TextField(event, "key")) + "  " +
                     screen.Printable(TextField(event, "owner"));
  if (const auto token = IntegerField(event, "token")) line += "  token " + std::to_string(*token);
  const auto add_time = [&](std::string_view field, std::string_view words) {
    const std::int64_t duration_ms = IntegerOr(event, field);
    if (duration_ms > 0) line.append("  ").append(words).append(" ") += ShowDuration(duration_ms);
  };
  add_time("waited_ms", "waited");
  add_time("held_ms", "held");
  const std::string details = ShowEventDetails(event, screen);
  return line + (details.empty() ? "" : "  " + details) + "\n";
}

boost::json::object ObjectOf(const HistoryPage& page) {
  boost::json::array events;
  for (const protocol::Reply& event : page.events) events.push_back(json::ObjectOf(event));
  boost::json::object object;
  object["oldest"] =
      page.oldest_unix_ms ? boost::json::value(*page.oldest_unix_ms) : boost::json::value(nullptr);
  object["next_until"] =
      page.next_until ? boost::json::value(*page.next_until) : boost::json::value(nullptr);
  object["next_before"] =
      page.next_before ? boost::json::value(*page.next_before) : boost::json::value(nullptr);
  object["events"] = events;
  const auto add = [&](std::string_view name, const std::optional<std::int64_t>& at) {
    object[name] = at ? boost::json::value(*at) : boost::json::value(nullptr);
  };
  add("complete_since", page.complete_since);
  add("rare_since", page.rare_since);
  add("denied_since", page.denied_since);
  return object;
}

}  // namespace fairlock::cli
