// Replies that handlers of several families write.
#pragma once

#include <optional>
#include <string_view>

#include "server/command/table/invocation.h"
#include "server/engine/api/glob.h"
#include "server/engine/api/redis_requests.h"
#include "server/engine/api/requests.h"

namespace fairlock::command {

// Sends the error for a bound that has been reached, either a configured one or that on memory.
// REQUIRES: engine::IsRefusal(status).
void RefuseBound(Invocation& call, engine::LockStatus status);
// As above, for a write. REQUIRES: engine::IsRefusal(status).
void RefuseBound(Invocation& call, engine::WriteStatus status);

// Returns nullopt after sending an error if the glob is too long. `name` is the command or the
// option that the glob belongs to.
std::optional<engine::Glob> ReadGlob(Invocation& call, std::string_view name,
                                     std::string_view glob);
// Returns true after sending an error, if the running transaction has already done as much matching
// as it may.
bool RefusesToMatch(Invocation& call);

// The reply to CONTAINER HELP.
void AnswerHelp(Invocation& call);

}  // namespace fairlock::command
