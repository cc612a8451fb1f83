#include "server/command/locks/lock_replies.h"

#include <optional>
#include <string>

#include "server/command/environment/unix_time.h"
#include "server/command/locks/locks.h"

namespace fairlock::command {

namespace {

template <typename Number>
void IntegerOrNull(protocol::ReplyWriter& reply, const std::optional<Number>& number) {
  if (number) {
    reply.Integer(static_cast<std::int64_t>(*number));
  } else {
    reply.Null();
  }
}

void BulkOrNull(protocol::ReplyWriter& reply, std::string_view text) {
  if (text.empty()) {
    reply.Null();
  } else {
    reply.Bulk(text);
  }
}

void CountField(protocol::ReplyWriter& reply, std::string_view name, std::uint64_t count) {
  IntegerField(reply, name, static_cast<std::int64_t>(count));
}

// The number of fields that identify the client.
constexpr std::size_t kClientFields = 4;

void WriteClient(protocol::ReplyWriter& reply, const engine::ClientIdentity& client) {
  reply.Bulk("address");
  BulkOrNull(reply, client.address);
  reply.Bulk("name");
  BulkOrNull(reply, client.name);
  reply.Bulk("user");
  BulkOrNull(reply, client.user);
  IntegerField(reply, "connected", client.is_connected ? 1 : 0);
}

}  // namespace

void IntegerField(protocol::ReplyWriter& reply, std::string_view name, std::int64_t value) {
  reply.Bulk(name);
  reply.Integer(value);
}

std::string_view ModeName(const engine::Mode& mode) {
  if (mode.is_shared) return "shared";
  return mode.limit > 1 ? "semaphore" : "exclusive";
}

std::string_view ReasonName(engine::DenialReason reason) {
  switch (reason) {
    case engine::DenialReason::kNone:
      break;
    case engine::DenialReason::kHeld:
      return "held";
    case engine::DenialReason::kLine:
      return "line";
    case engine::DenialReason::kReserved:
      return "reserved";
    case engine::DenialReason::kCooling:
      return "cooling";
    case engine::DenialReason::kShared:
      return "shared";
    case engine::DenialReason::kFull:
      return "full";
    case engine::DenialReason::kDrained:
      return "drained";
    case engine::DenialReason::kStarting:
      return "starting";
    case engine::DenialReason::kDeadlock:
      return "deadlock";
    case engine::DenialReason::kLeaving:
      return "leaving";
  }
  return {};
}

void WriteHolder(protocol::ReplyWriter& reply, const UnixTime& unix_time,
                 const engine::HolderInfo& holder, engine::TimeMs now) {
  reply.MapHeader(13 + kClientFields);
  reply.Bulk("owner");
  reply.Bulk(holder.owner);
  IntegerField(reply, "token", static_cast<std::int64_t>(holder.token));
  reply.Bulk("meta");
  BulkOrNull(reply, holder.meta);
  reply.Bulk("label");
  BulkOrNull(reply, holder.label);
  IntegerField(reply, "since", unix_time.MsOf(holder.since, now));
  IntegerField(reply, "held_ms", holder.held_ms);
  reply.Bulk("ttl_ms");
  IntegerOrNull(reply, holder.ttl_ms);
  IntegerField(reply, "limit", holder.mode.limit);
  WriteClient(reply, *holder.client);
  reply.Bulk("mode");
  reply.Bulk(ModeName(holder.mode));
  reply.Bulk("session");
  BulkOrNull(reply, !holder.has_session ? "" : holder.is_session_open ? "open" : "lost");
  IntegerField(reply, "keys", static_cast<std::int64_t>(holder.key_count));
  reply.Bulk("channel");
  BulkOrNull(reply, holder.channel);
  IntegerField(reply, "leaving", holder.is_leaving ? 1 : 0);
}

void WritePlace(protocol::ReplyWriter& reply, const UnixTime& unix_time,
                const engine::PlaceInfo& place, engine::TimeMs now) {
  reply.MapHeader(13 + kClientFields);
  IntegerField(reply, "position", static_cast<std::int64_t>(place.position));
  reply.Bulk("owner");
  reply.Bulk(place.owner);
  reply.Bulk("meta");
  BulkOrNull(reply, place.meta);
  reply.Bulk("label");
  BulkOrNull(reply, place.label);
  IntegerField(reply, "since", unix_time.MsOf(place.since, now));
  IntegerField(reply, "waited_ms", place.waited_ms);
  reply.Bulk("wait_left_ms");
  IntegerOrNull(reply, place.wait_left_ms);
  IntegerField(reply, "limit", place.mode.limit);
  WriteClient(reply, *place.client);
  reply.Bulk("mode");
  reply.Bulk(ModeName(place.mode));
  reply.Bulk("state");
  reply.Bulk(place.is_waiting ? "waiting" : place.is_reserved ? "reserved" : "absent");
  reply.Bulk("keep_ms");
  IntegerOrNull(reply, place.keep_left_ms);
  IntegerField(reply, "keys", static_cast<std::int64_t>(place.key_count));
  reply.Bulk("channel");
  BulkOrNull(reply, place.channel);
}

void WriteOverride(protocol::ReplyWriter& reply, const UnixTime& unix_time,
                   const engine::LimitOverride& row, engine::TimeMs now) {
  reply.MapHeader(8);
  reply.Bulk("pattern");
  reply.Bulk(row.pattern);
  IntegerField(reply, "db", row.db);
  IntegerField(reply, "limit", row.limit);
  reply.Bulk("reason");
  BulkOrNull(reply, row.reason);
  reply.Bulk("user");
  reply.Bulk(row.user);
  reply.Bulk("address");
  reply.Bulk(row.address);
  IntegerField(reply, "since", unix_time.MsOf(row.since, now));
  reply.Bulk("left_ms");
  const bool has_end = row.end < engine::kNever;
  IntegerOrNull(reply, has_end ? std::optional(row.end - now) : std::nullopt);
}

void WriteExplanation(protocol::ReplyWriter& reply, Locks& locks, const UnixTime& unix_time,
                      const ExplainedRequest& request, const ExplainedOutcome& outcome,
                      engine::TimeMs now) {
  const engine::Explanation explanation =
      locks.engine().inspection().Explain(request.key, request.owner, locks.StepAt(now));
  reply.MapHeader(request.names_key ? 9 : 8);
  reply.Bulk("status");
  reply.Bulk(outcome.status);
  reply.Bulk("reason");
  BulkOrNull(reply, ReasonName(outcome.reason));
  reply.Bulk("token");
  IntegerOrNull(reply, outcome.token == 0 ? std::nullopt : std::optional(outcome.token));
  reply.Bulk("ttl_ms");
  IntegerOrNull(reply, explanation.ttl_ms);
  reply.Bulk("position");
  IntegerOrNull(reply, explanation.position);
  IntegerField(reply, "waiters", static_cast<std::int64_t>(explanation.waiter_count));
  reply.Bulk("eta_ms");
  IntegerOrNull(reply, explanation.eta_ms);
  reply.Bulk("holders");
  reply.ArrayHeader(explanation.holders.size());
  for (const engine::HolderInfo& holder : explanation.holders) {
    WriteHolder(reply, unix_time, holder, now);
  }
  if (!request.names_key) return;
  reply.Bulk("key");
  reply.Bulk(request.key.bytes);
}

void WriteLockInfo(protocol::ReplyWriter& reply, const UnixTime& unix_time,
                   const engine::LockInfo& info, engine::TimeMs now, const ShownValue& value) {
  reply.MapHeader(13U + (value.type.empty() ? 0U : 1U) + (value.library.empty() ? 0U : 1U));
  IntegerField(reply, "limit", info.limit);
  reply.Bulk("mode");
  const std::string_view without_holder = value.type.empty() ? "free" : "value";
  reply.Bulk(info.holder_count == 0 ? without_holder : ModeName({info.limit, info.is_shared}));
  reply.Bulk("holders");
  reply.ArrayHeader(info.holders.size());
  for (const engine::HolderInfo& holder : info.holders) {
    WriteHolder(reply, unix_time, holder, now);
  }
  CountField(reply, "waiters", info.waiter_count);
  CountField(reply, "acquired", info.counters.acquired);
  CountField(reply, "granted_after_wait", info.counters.granted_after_wait);
  CountField(reply, "denied", info.counters.denied);
  CountField(reply, "expired", info.counters.expired);
  reply.Bulk("hold_mean_ms");
  IntegerOrNull(reply, info.counters.hold_mean_ms);
  reply.Bulk("wait_mean_ms");
  IntegerOrNull(reply, info.counters.wait_mean_ms);
  CountField(reply, "reserved", info.reserved_count);
  IntegerField(reply, "cooling_ms", info.cooling_ms);
  reply.Bulk("override");
  IntegerOrNull(reply, info.limit_override);
  if (!value.type.empty()) {
    reply.Bulk("type");
    reply.Bulk(value.type);
  }
  if (value.library.empty()) return;
  reply.Bulk("library");
  reply.Bulk(value.library);
}

}  // namespace fairlock::command
