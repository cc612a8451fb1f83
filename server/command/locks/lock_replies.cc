#include "server/command/locks/lock_replies.h"

#include <concepts>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "protocol/lock_columns.h"
#include "server/command/locks/locks.h"

namespace fairlock::command {

namespace {

void WriteHolders(protocol::ReplyWriter& reply, const UnixTime& unix_time,
                  std::span<const engine::HolderInfo> holders, engine::TimeMs now);

void WriteShown(protocol::ReplyWriter& reply, std::string_view text) { reply.Bulk(text); }

template <std::integral Number>
void WriteShown(protocol::ReplyWriter& reply, Number number) {
  reply.Integer(static_cast<std::int64_t>(number));
}

template <typename Value>
void WriteShown(protocol::ReplyWriter& reply, const std::optional<Value>& value) {
  if (value) {
    WriteShown(reply, *value);
  } else {
    reply.Null();
  }
}

// Reads a field of `shown` as its table says.
template <typename Source, typename Member>
decltype(auto) ReadShown(const Source& shown, Member read) {
  if constexpr (std::is_member_object_pointer_v<Member>) {
    return (shown.info.*read);
  } else {
    return read(shown);
  }
}

template <typename Value>
constexpr bool kIsText = std::is_convertible_v<Value, std::string_view>;

// Writes the map that the table describes.
template <typename Table, typename Source>
void WriteMap(protocol::ReplyWriter& reply, const Source& shown) {
  const auto is_missing = [&shown](const protocol::Field& field, auto read) {
    if constexpr (kIsText<decltype(ReadShown(shown, read))>) {
      return field.is_optional && std::string_view(ReadShown(shown, read)).empty();
    }
    return false;
  };
  std::size_t count = 0;
  Table::ForEach([&](const protocol::Field& field, auto read) {
    if (!is_missing(field, read)) ++count;
  });
  reply.MapHeader(count);
  Table::ForEach([&](const protocol::Field& field, auto read) {
    if (is_missing(field, read)) return;
    decltype(auto) value = ReadShown(shown, read);
    using Value = std::decay_t<decltype(value)>;
    reply.Bulk(field.name);
    if constexpr (std::is_same_v<Value, std::vector<engine::HolderInfo>>) {
      WriteHolders(reply, shown.unix_time, value, shown.now);
    } else if constexpr (kIsText<Value>) {
      const std::string_view text = value;
      WriteShown(reply, field.is_nullable && text.empty() ? std::nullopt : std::optional(text));
    } else {
      WriteShown(reply, value);
    }
  });
}

void WriteHolders(protocol::ReplyWriter& reply, const UnixTime& unix_time,
                  std::span<const engine::HolderInfo> holders, engine::TimeMs now) {
  reply.ArrayHeader(holders.size());
  for (const engine::HolderInfo& holder : holders) {
    WriteMap<HolderFields>(reply, ShownHolder{holder, unix_time, now});
  }
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

void WritePlace(protocol::ReplyWriter& reply, const UnixTime& unix_time,
                const engine::PlaceInfo& place, engine::TimeMs now) {
  WriteMap<PlaceFields>(reply, ShownPlace{place, unix_time, now});
}

void WriteOverride(protocol::ReplyWriter& reply, const UnixTime& unix_time,
                   const engine::LimitOverride& row, engine::TimeMs now) {
  WriteMap<OverrideFields>(reply, ShownOverride{row, unix_time, now});
}

void WriteLockInfo(protocol::ReplyWriter& reply, const UnixTime& unix_time,
                   const engine::LockInfo& info, engine::TimeMs now, const ShownValue& value) {
  WriteMap<LockInfoFields>(reply, ShownLock{{info, unix_time, now}, value});
}

void WriteLockRow(protocol::ReplyWriter& reply, const LockRow& lock) {
  // Columns are left out only at the end, so nil takes the place of one that others follow.
  std::size_t count = 0;
  for (std::size_t i = 0; i < protocol::kLockColumns.size(); ++i) {
    if (!protocol::kLockColumns[i].is_optional || !lock.library.empty()) count = i + 1;
  }
  reply.ArrayHeader(count);
  std::size_t column = 0;
  protocol::LockColumns::ForEach([&](const protocol::Field& field, auto read) {
    if (column++ >= count) return;
    if (field.is_optional && lock.library.empty()) return reply.Null();
    WriteShown(reply, read(lock));
  });
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
  const bool has_reason = outcome.reason != engine::DenialReason::kNone;
  WriteShown(reply, has_reason ? std::optional(ReasonName(outcome.reason)) : std::nullopt);
  reply.Bulk("token");
  WriteShown(reply, outcome.token == 0 ? std::nullopt : std::optional(outcome.token));
  reply.Bulk("ttl_ms");
  WriteShown(reply, explanation.ttl_ms);
  reply.Bulk("position");
  WriteShown(reply, explanation.position);
  IntegerField(reply, "waiters", static_cast<std::int64_t>(explanation.waiter_count));
  reply.Bulk("eta_ms");
  WriteShown(reply, explanation.eta_ms);
  reply.Bulk("holders");
  WriteHolders(reply, unix_time, explanation.holders, now);
  if (!request.names_key) return;
  reply.Bulk("key");
  reply.Bulk(request.key.bytes);
}

}  // namespace fairlock::command
