// Checks the option NOTIFY of LOCK and MLOCK.
#pragma once

#include "server/command/table/invocation.h"
#include "server/engine/api/requests.h"

namespace fairlock::command {

// Returns false after sending an error if the request cannot use NOTIFY.
bool CheckNotify(Invocation& call, const engine::LockRequest& request);

}  // namespace fairlock::command
