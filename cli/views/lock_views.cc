#include "cli/views/lock_views.h"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>

#include "cli/connection/reply_fields.h"
#include "cli/output/printable.h"

namespace fairlock::cli {

namespace {

// A word that the server chose; escaped in case the server is not trustworthy.
std::string WordField(const protocol::Reply& map, std::string_view name) {
  return Printable(TextField(map, name), Charset::kAscii);
}

ClaimantView ReadClaimant(const protocol::Reply& map) {
  return {.owner = TextField(map, "owner"),
          .meta = TextField(map, "meta"),
          .label = TextField(map, "label"),
          .since_unix_ms = IntegerOr(map, "since"),
          .address = TextField(map, "address"),
          .client_name = TextField(map, "name"),
          .user = TextField(map, "user"),
          .is_connected = IntegerOr(map, "connected") != 0,
          .mode = WordField(map, "mode"),
          .limit = IntegerOr(map, "limit", 1),
          .key_count = IntegerOr(map, "keys", 1)};
}

}  // namespace

HolderView ReadHolder(const protocol::Reply& map) {
  return {.who = ReadClaimant(map),
          .token = IntegerOr(map, "token"),
          .held_ms = IntegerOr(map, "held_ms"),
          .ttl_ms = IntegerField(map, "ttl_ms"),
          .session = WordField(map, "session"),
          .is_leaving = IntegerOr(map, "leaving") != 0};
}

PlaceView ReadPlace(const protocol::Reply& map) {
  return {.who = ReadClaimant(map),
          .position = IntegerOr(map, "position"),
          .waited_ms = IntegerOr(map, "waited_ms"),
          .wait_left_ms = IntegerField(map, "wait_left_ms"),
          .keep_ms = IntegerField(map, "keep_ms"),
          .state = WordField(map, "state")};
}

LockView ReadLock(const protocol::Reply& map) {
  LockView lock{.mode = WordField(map, "mode"),
                .limit = IntegerOr(map, "limit", 1),
                .holders = {},
                .waiter_count = IntegerOr(map, "waiters"),
                .reserved_count = IntegerOr(map, "reserved"),
                .cooling_ms = IntegerOr(map, "cooling_ms"),
                .hold_mean_ms = IntegerField(map, "hold_mean_ms"),
                .wait_mean_ms = IntegerField(map, "wait_mean_ms"),
                .override_limit = IntegerField(map, "override"),
                .library = WordField(map, "library"),
                .type = WordField(map, "type")};
  const protocol::Reply* const holders = FindField(map, "holders");
  if (holders == nullptr) return lock;
  for (const protocol::Reply& holder : holders->elements) {
    lock.holders.push_back(ReadHolder(holder));
  }
  return lock;
}

const protocol::Reply& LockRow::At(std::size_t column) const {
  static const protocol::Reply kMissing;
  return column < reply_.elements.size() ? reply_.elements[column] : kMissing;
}

Result<LockView> FetchLock(Client& client, const std::string& key) {
  const Result<protocol::Reply> reply = client.Ask({"LOCKINFO", key});
  if (!reply) return reply.failure();
  return ReadLock(*reply);
}

LockMessage::LockMessage(std::string_view text) {
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(text, error);
  if (!error && value.is_object()) object_ = value.get_object();
}

std::string LockMessage::Text(std::string_view name) const {
  const boost::json::value* const value = object_.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

std::int64_t LockMessage::Number(std::string_view name) const {
  const boost::json::value* const value = object_.if_contains(name);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

bool LockMessage::EndsHold() const {
  constexpr auto kEnds =
      std::to_array<std::string_view>({"released", "expired", "disconnected", "broken", "undone"});
  return std::ranges::find(kEnds, Text("event")) != kEnds.end();
}

}  // namespace fairlock::cli
