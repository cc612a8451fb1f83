// What the commands for keys of any type do with small values.
#pragma once

#include <string_view>

#include "server/command/table/invocation.h"
#include "server/engine/api/redis_requests.h"
#include "server/engine/api/types.h"
#include "server/values/value_store.h"

namespace fairlock::command {

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
