// Writes locks, holders and places into replies.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/reply_writer.h"
#include "server/command/locks/lock_fields.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

class Locks;

std::string_view ReasonName(engine::DenialReason reason);

// What EXPLAIN says about the outcome of a LOCK, in addition to the state of the key.
struct ExplainedOutcome {
  std::string_view status;
  engine::DenialReason reason = engine::DenialReason::kNone;
  engine::Token token = 0;
};

// The explained request. If it has several keys, the map is about one of them and includes that
// key.
struct ExplainedRequest {
  engine::KeyName key;
  std::string_view owner;
  bool names_key = false;
};

// Writes the map that LOCK ... EXPLAIN replies with.
void WriteExplanation(protocol::ReplyWriter& reply, Locks& locks, const UnixTime& unix_time,
                      const ExplainedRequest& request, const ExplainedOutcome& outcome,
                      engine::TimeMs now);

// Writes one field of a map.
void IntegerField(protocol::ReplyWriter& reply, std::string_view name, std::int64_t value);

// Each writes one map, of the fields in lock_fields.h.
void WriteLockInfo(protocol::ReplyWriter& reply, const UnixTime& unix_time,
                   const engine::LockInfo& info, engine::TimeMs now, const ShownValue& value = {});
void WritePlace(protocol::ReplyWriter& reply, const UnixTime& unix_time,
                const engine::PlaceInfo& place, engine::TimeMs now);
void WriteOverride(protocol::ReplyWriter& reply, const UnixTime& unix_time,
                   const engine::LimitOverride& row, engine::TimeMs now);

// A lock as LOCKS shows it.
struct LockRow : engine::LockSummary {
  std::string_view library = {};  // empty: a lock of fairlock's own
  // Only with `library`: the time until the last hold ends; none: it has no end.
  std::optional<engine::DurationMs> ttl_ms = {};
};
// Writes a row of LOCKS, of the columns in protocol/lock_columns.h.
void WriteLockRow(protocol::ReplyWriter& reply, const LockRow& lock);

}  // namespace fairlock::command
