// Replies that handlers of several command families write.
#pragma once

#include <optional>
#include <string_view>

#include "server/command/table/invocation.h"
#include "server/engine/api/glob.h"
#include "server/engine/api/redis_requests.h"
#include "server/engine/api/requests.h"

namespace fairlock::command {

// Sends the error for a bound that has been reached: either a configured bound, or the bound on
// memory. REQUIRES: engine::IsRefusal(status).
void RefuseBound(Invocation& call, engine::LockStatus status);
// Like the above, but for a write. REQUIRES: engine::IsRefusal(status).
void RefuseBound(Invocation& call, engine::WriteStatus status);

// Returns nullopt after sending an error if the glob is too long. `name` is the command or the
// option to which the glob belongs.
std::optional<engine::Glob> ReadGlob(Invocation& call, std::string_view name,
                                     std::string_view glob);
// If the running transaction has used up its allowance for matching, sends an error and returns
// true.
bool RefusesToMatch(Invocation& call);

// Replies to CONTAINER HELP.
void AnswerHelp(Invocation& call);

}  // namespace fairlock::command
