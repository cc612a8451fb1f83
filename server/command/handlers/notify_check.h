// Checks the option NOTIFY of LOCK and MLOCK.
#pragma once

#include <string_view>

#include "server/command/table/invocation.h"
#include "server/engine/api/requests.h"

namespace fairlock::command {

// Returns false after sending an error if the request cannot use NOTIFY. `key` is one of its keys.
bool CheckNotify(Invocation& call, std::string_view key, const engine::LockRequest& request);

}  // namespace fairlock::command
