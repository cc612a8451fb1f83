// The options of LOCK, and of the commands that have some of them.
#pragma once

#include <optional>

#include "server/command/table/argument_reader.h"
#include "server/command/table/command_table.h"
#include "server/engine/api/requests.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// All that is left, as behind LOCK key owner, whose owner `request` has. True: EXPLAIN is among it.
bool ReadLockOptions(const Invocation& call, ArgumentReader& arguments,
                     engine::LockRequest& request);

// All that is left, as behind RENEW key owner.
struct RenewOptions {
  std::optional<engine::DurationMs> lease_ms;
  std::optional<engine::Token> token;
};
RenewOptions ReadRenewOptions(ArgumentReader& arguments);

// As behind UNLOCK key owner.
std::optional<engine::Token> ReadTokenOption(ArgumentReader& arguments);

}  // namespace fairlock::command
