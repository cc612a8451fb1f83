// Writes locks, holders and places into replies.
#pragma once

#include <string_view>

#include "protocol/reply_writer.h"
#include "server/engine/api/inspection.h"
#include "server/engine/api/types.h"
#include "server/engine/state/limit_overrides.h"

namespace fairlock::command {

class Locks;
class UnixTime;

std::string_view ReasonName(engine::DenialReason reason);
std::string_view ModeName(const engine::Mode& mode);

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

// Each writes one map.
void WriteHolder(protocol::ReplyWriter& reply, const UnixTime& unix_time,
                 const engine::HolderInfo& holder, engine::TimeMs now);
// What LOCKINFO shows if the key has a small value. Each field is written only if it is not empty.
struct ShownValue {
  std::string_view type = {};     // as TYPE names it
  std::string_view library = {};  // of the lock that it is, or of a free lock with waiters
};
void WriteLockInfo(protocol::ReplyWriter& reply, const UnixTime& unix_time,
                   const engine::LockInfo& info, engine::TimeMs now, const ShownValue& value = {});
void WritePlace(protocol::ReplyWriter& reply, const UnixTime& unix_time,
                const engine::PlaceInfo& place, engine::TimeMs now);
void WriteOverride(protocol::ReplyWriter& reply, const UnixTime& unix_time,
                   const engine::LimitOverride& row, engine::TimeMs now);

}  // namespace fairlock::command
