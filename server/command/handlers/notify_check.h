// Checks the option NOTIFY of LOCK and MLOCK.
#pragma once

#include "server/command/table/invocation.h"
#include "server/engine/api/requests.h"

namespace fairlock::command {

// False: NOTIFY is not possible as the request gives it, and the error is answered.
bool CheckNotify(Invocation& call, const engine::LockRequest& request);

}  // namespace fairlock::command
