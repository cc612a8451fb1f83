// What the commands for keys of any type do with small values.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/command/table/invocation.h"
#include "server/engine/api/redis_requests.h"
#include "server/engine/api/types.h"
#include "server/values/value_store.h"

namespace fairlock::command {

// Walks visit the locks first and then the values. In a cursor, this bit marks the values; the
// cursors of both tables are below it, and no client takes it for a negative or inexact number.
inline constexpr std::uint64_t kValuesCursorBit = std::uint64_t{1} << 46;

// The type of a value as TYPE and SCAN name it.
std::string_view NameOfType(values::ValueType type);

// The value with that key, or null.
values::Value* ValueOf(const Invocation& call, const engine::KeyName& key);

// If there is a value under that key, sends the error and returns true.
bool RefusesValue(Invocation& call, const engine::KeyName& key);

// EXPIRE and similar commands, and PERSIST. Returns whether the end has changed, or the value has
// been deleted because its time is over.
bool ExpireValue(const Invocation& call, values::Value& value,
                 const engine::ExpiryRequest& request);

}  // namespace fairlock::command
