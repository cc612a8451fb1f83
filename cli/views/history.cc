#include "cli/views/history.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

#include "cli/connection/reply_fields.h"
#include "cli/output/duration.h"
#include "cli/output/printable.h"
#include "cli/output/table.h"
#include "json/base64.h"
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

namespace {

constexpr std::string_view kExactBytes = "_base64";

protocol::Reply TextReply(std::string_view text) {
  return {.type = protocol::ReplyType::kBulk, .text = std::string(text)};
}

void SetField(protocol::Reply& map, std::string_view name, protocol::Reply value) {
  for (std::size_t i = 0; i + 1 < map.elements.size(); i += 2) {
    if (map.elements[i].text != name) continue;
    map.elements[i + 1] = std::move(value);
    return;
  }
  map.elements.push_back(TextReply(name));
  map.elements.push_back(std::move(value));
}

// nullopt: the line is no event of a lock.
std::optional<protocol::Reply> ParseEvent(std::string_view line) {
  boost::system::error_code error;
  const boost::json::value parsed = boost::json::parse(line, error);
  if (error || !parsed.is_object()) return std::nullopt;
  protocol::Reply map{.type = protocol::ReplyType::kMap};
  for (const auto& field : parsed.get_object()) {
    const std::string_view name = field.key();
    const boost::json::value& value = field.value();
    if (name == "time") continue;
    if (value.is_int64()) {
      SetField(map, name, {.type = protocol::ReplyType::kInteger, .integer = value.get_int64()});
    } else if (value.is_string() && name.ends_with(kExactBytes)) {
      const auto bytes = json::DecodeBase64(std::string_view(value.get_string()));
      SetField(map, name.substr(0, name.size() - kExactBytes.size()),
               TextReply(bytes.value_or("")));
    } else if (value.is_string()) {
      SetField(map, name, TextReply(std::string_view(value.get_string())));
    }
  }
  if (FindField(map, "key") == nullptr || !IntegerField(map, "at")) return std::nullopt;
  return map;
}

std::vector<std::string> OldestFirst(const std::string& path) {
  std::vector<std::string> paths = {path};
  std::error_code ignored;
  for (int number = 1;; ++number) {
    std::string older = path + "." + std::to_string(number);
    if (!std::filesystem::exists(older, ignored)) break;
    paths.push_back(std::move(older));
  }
  std::ranges::reverse(paths);
  return paths;
}

}  // namespace

bool Passes(const HistoryFilter& filter, const protocol::Reply& event) {
  const std::int64_t at = IntegerField(event, "at").value_or(0);
  const std::string key = TextField(event, "key");
  const bool is_of_key =
      filter.is_glob ? fnmatch(filter.key.c_str(), key.c_str(), 0) == 0 : key == filter.key;
  const bool is_of_kind =
      filter.events.empty() ||
      std::ranges::find(filter.events, TextField(event, "event")) != filter.events.end();
  return is_of_key && is_of_kind && at >= filter.since && at <= filter.until &&
         IntegerField(event, "db").value_or(0) == filter.database &&
         (!filter.owner || TextField(event, "owner") == *filter.owner);
}

Result<std::vector<protocol::Reply>> ReadHistoryFiles(const std::string& path,
                                                      const HistoryFilter& filter,
                                                      std::int64_t count) {
  std::deque<protocol::Reply> events;
  for (const std::string& each : OldestFirst(path)) {
    std::ifstream file(each, std::ios::binary);
    // A renamed file may be removed while others are read.
    if (!file.is_open() && each != path) continue;
    if (!file.is_open()) {
      return Failure{kExitRefused, "cannot read " + Quoted(each) + ": " + std::strerror(errno)};
    }
    std::string line;
    while (std::getline(file, line)) {
      std::optional<protocol::Reply> event = ParseEvent(line);
      if (!event || !Passes(filter, *event)) continue;
      events.push_back(*std::move(event));
      if (static_cast<std::int64_t>(events.size()) > count) events.pop_front();
    }
  }
  return std::vector<protocol::Reply>(std::make_move_iterator(events.rbegin()),
                                      std::make_move_iterator(events.rend()));
}

namespace {

using protocol::Reply;
using protocol::ReplyType;

constexpr std::int64_t kMinuteMs = 60'000;

// The minutes of different servers do not begin at the same moment.
using RowKey = std::pair<std::string, std::int64_t>;

void CombineField(std::string_view name, Reply& into, const Reply& from) {
  if (from.type != ReplyType::kInteger) return;  // a label, or a percentile of nothing
  if (into.type != ReplyType::kInteger) {
    into = from;
  } else if (name == "since") {
    into.integer = std::min(into.integer, from.integer);
  } else if (name.ends_with("_ms")) {
    into.integer = std::max(into.integer, from.integer);
  } else {
    into.integer += from.integer;
  }
}

void CombineRow(Reply& into, const Reply& from) {
  for (std::size_t i = 0; i + 1 < into.elements.size(); i += 2) {
    const std::string& name = into.elements[i].text;
    const Reply* const field = FindField(from, name);
    if (field != nullptr) CombineField(name, into.elements[i + 1], *field);
  }
}

}  // namespace

Reply MergedStats(const std::vector<Reply>& replies, bool is_by_minute) {
  if (replies.size() == 1) return replies.front();
  std::map<RowKey, Reply> rows;
  std::int64_t complete_since = 0;
  for (const Reply& reply : replies) {
    complete_since = std::max(complete_since, IntegerOr(reply, "complete_since"));
    const Reply* const labels = FindField(reply, "labels");
    if (labels == nullptr) continue;
    for (const Reply& row : labels->elements) {
      const std::int64_t minute = is_by_minute ? IntegerOr(row, "since") / kMinuteMs : 0;
      const auto [at, is_new] = rows.try_emplace({TextField(row, "label"), minute}, row);
      if (!is_new) CombineRow(at->second, row);
    }
  }
  Reply merged = replies.front();
  for (std::size_t i = 0; i + 1 < merged.elements.size(); i += 2) {
    Reply& value = merged.elements[i + 1];
    if (merged.elements[i].text == "complete_since") value.integer = complete_since;
    if (merged.elements[i].text != "labels") continue;
    value.elements.clear();
    for (auto& [key, row] : rows) value.elements.push_back(std::move(row));
  }
  return merged;
}

}  // namespace fairlock::cli
