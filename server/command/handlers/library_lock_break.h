// How BREAK ends the locks of libraries, which are small values.
#pragma once

#include <optional>
#include <string_view>

#include "server/command/table/invocation.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// If there is a value under that key, breaks the lock of a library that it is, writes the reply and
// returns true. With `owner`, ends only that holder's hold.
bool BreaksLibraryLock(Invocation& call, const engine::KeyName& key,
                       std::optional<std::string_view> owner);

// Wakes a program that waits with python-redis-lock for a lock that has been broken. The library
// takes its locks with SET, so the engine has broken it.
void SignalPythonWaiter(Invocation& call, const engine::KeyName& key);

}  // namespace fairlock::command
