#include "server/services/history_lines.h"

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <ctime>

#include "json/base64.h"
#include "json/json_text.h"
#include "server/command/locks/event_names.h"
#include "server/command/locks/lock_message.h"
#include "text/local_time.h"

namespace fairlock::server {

namespace {

void AppendField(std::string& out, std::string_view name, std::uint64_t number) {
  if (number == 0) return;
  out.append(",\"").append(name).append("\":").append(std::to_string(number));
}

void AppendField(std::string& out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  out.append(",\"").append(name).append("\":");
  if (json::AppendJsonText(out, text)) return;
  out.append(",\"").append(name).append("_base64\":\"");
  json::AppendBase64(out, text);
  out += '"';
}

void BeginLine(std::string& out, std::string_view what, std::int64_t unix_ms) {
  out.append("{\"time\":\"");
  out += text::LogTime(unix_ms);
  out.append("\",\"at\":").append(std::to_string(unix_ms));
  AppendField(out, "event", what);
}

std::uint64_t NumberIn(const boost::json::object& line, std::string_view name) {
  const boost::json::value* value = line.if_contains(name);
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return 0;
  return static_cast<std::uint64_t>(value->get_int64());
}

std::string TextIn(const boost::json::object& line, std::string_view name) {
  const boost::json::value* exact = line.if_contains(std::string(name) + "_base64");
  if (exact != nullptr && exact->is_string()) {
    return json::DecodeBase64(std::string_view(exact->get_string())).value_or("");
  }
  const boost::json::value* value = line.if_contains(name);
  if (value == nullptr || !value->is_string()) return "";
  return std::string(std::string_view(value->get_string()));
}

bool IsSpan(engine::DurationMs duration_ms) { return duration_ms <= engine::kForever; }

bool IsInBounds(const ReadEvent& read, std::uint64_t db) {
  const record::PastEvent& event = read.event;
  return read.unix_ms > 0 && read.unix_ms < engine::kForever && db < engine::kDatabases &&
         read.key.size() <= engine::kKeyBytesMax && read.owner.size() <= engine::kOwnerBytesMax &&
         read.other.size() <= engine::kOwnerBytesMax &&
         read.by.size() <= record::History::kByBytesMax &&
         read.comment.size() <= record::History::kCommentBytesMax &&
         event.token <= engine::kTokenMax && event.other_token <= engine::kTokenMax &&
         IsSpan(event.waited_ms) && IsSpan(event.held_ms) && IsSpan(event.grace_ms);
}

}  // namespace

void AppendHistoryLine(std::string& out, const record::PastEvent& event, std::int64_t unix_ms) {
  BeginLine(out, command::EventName(event.kind), unix_ms);
  out.append(",\"db\":").append(std::to_string(event.key.db));
  AppendField(out, "key", event.key.bytes);
  AppendField(out, "owner", event.owner);
  AppendField(out, "token", event.token);
  AppendField(out, "reason", command::EventReason(event.kind, event.reason));
  AppendField(out, "holder", event.other);
  AppendField(out, "holder_token", event.other_token);
  AppendField(out, "waited_ms", static_cast<std::uint64_t>(event.waited_ms));
  AppendField(out, "held_ms", static_cast<std::uint64_t>(event.held_ms));
  AppendField(out, "grace_ms", static_cast<std::uint64_t>(event.grace_ms));
  AppendField(out, "by", event.by);
  AppendField(out, "comment", event.comment);
  out.append("}\n");
}

void AppendHistoryNote(std::string& out, std::string_view what, std::uint64_t count,
                       std::int64_t unix_ms) {
  BeginLine(out, what, unix_ms);
  AppendField(out, "count", count);
  out.append("}\n");
}

bool ReadHistoryLine(std::string_view line, ReadEvent& into) {
  boost::system::error_code error;
  const boost::json::value parsed = boost::json::parse(line, error);
  if (error || !parsed.is_object()) return false;
  const boost::json::object& fields = parsed.get_object();
  const std::string reason = TextIn(fields, "reason");
  const auto kind = command::EventKindOf(TextIn(fields, "event"), reason == "replaced");
  if (!kind) return false;
  into.unix_ms = static_cast<std::int64_t>(NumberIn(fields, "at"));
  into.key = TextIn(fields, "key");
  into.owner = TextIn(fields, "owner");
  into.other = TextIn(fields, "holder");
  into.by = TextIn(fields, "by");
  into.comment = TextIn(fields, "comment");
  const std::uint64_t db = NumberIn(fields, "db");
  record::PastEvent& event = into.event;
  event.kind = *kind;
  event.reason = command::DenialReasonOf(reason);
  event.key = {.db = static_cast<std::uint8_t>(db), .bytes = into.key};
  event.owner = into.owner;
  event.other = into.other;
  event.token = NumberIn(fields, "token");
  event.other_token = NumberIn(fields, "holder_token");
  event.waited_ms = static_cast<engine::DurationMs>(NumberIn(fields, "waited_ms"));
  event.held_ms = static_cast<engine::DurationMs>(NumberIn(fields, "held_ms"));
  event.grace_ms = static_cast<engine::DurationMs>(NumberIn(fields, "grace_ms"));
  event.by = into.by;
  event.comment = into.comment;
  return IsInBounds(into, db);
}

}  // namespace fairlock::server
