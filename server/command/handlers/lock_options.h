// The options of LOCK, and of the commands that have some of them.
#pragma once

#include <optional>

#include "server/command/table/argument_reader.h"
#include "server/command/table/command_table.h"
#include "server/engine/api/requests.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// Reads all remaining arguments, as after LOCK key owner; `request` has the owner. True: EXPLAIN is
// among them.
bool ReadLockOptions(const Invocation& call, ArgumentReader& arguments,
                     engine::LockRequest& request);

// The remaining arguments, as after RENEW key owner.
struct RenewOptions {
  std::optional<engine::DurationMs> lease_ms;
  std::optional<engine::Token> token;
};
RenewOptions ReadRenewOptions(ArgumentReader& arguments);

// As after UNLOCK key owner.
std::optional<engine::Token> ReadTokenOption(ArgumentReader& arguments);

}  // namespace fairlock::command
