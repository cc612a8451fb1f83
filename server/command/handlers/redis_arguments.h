// The arguments of the commands that Redis has too, read as Redis reads them and refused in its
// words.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/command/table/command_table.h"
#include "server/engine/api/redis_requests.h"
#include "server/engine/api/types.h"
#include "server/engine/lock_engine.h"

namespace fairlock::command {

// A whole number in the one form that Redis takes: no sign but a minus, no zeros in front.
std::optional<std::int64_t> ParseRedisInteger(std::string_view text);

// The same; none: the error is answered.
std::optional<std::int64_t> ReadRedisInteger(Invocation& call, std::string_view text);

// False: the error is answered. Keys as everywhere; a value is the owner of a lock.
bool IsKeyOrRefuse(Invocation& call, std::string_view key);
bool IsValueOrRefuse(Invocation& call, std::string_view value);

// The name of a key in the database of the client.
engine::KeyName KeyOf(const Invocation& call, std::size_t position);

// The locks of the engine, as the commands of Redis use them.
engine::RedisView& LocksOf(const Invocation& call);

// In which a command counts, and from when.
struct TimeForm {
  engine::DurationMs unit_ms = 1;
  bool is_absolute = false;  // Unix time, else from now
};

// Milliseconds from now, at most engine::kLeaseMsMax, which may be below 0 where `form` is absolute
// or `may_be_past`; none: the error is answered, for the command of that name in lower case.
std::optional<engine::DurationMs> ReadLease(Invocation& call, std::string_view text,
                                            const TimeForm& form, std::string_view command,
                                            bool may_be_past);

// Why a write did nothing, as an error. REQUIRES: kDenied, kNative or a refusal.
void RefuseWrite(Invocation& call, std::string_view key, const engine::WriteResult& result);

}  // namespace fairlock::command
