// Replies that handlers of several families write.
#pragma once

#include <optional>
#include <string_view>

#include "server/command/table/invocation.h"
#include "server/engine/api/glob.h"
#include "server/engine/api/redis_requests.h"
#include "server/engine/api/requests.h"

namespace fairlock::command {

// A configured bound, or that of memory, is reached. REQUIRES: engine::IsRefusal(status).
void RefuseBound(Invocation& call, engine::LockStatus status);
// The same for a write. REQUIRES: engine::IsRefusal(status).
void RefuseBound(Invocation& call, engine::WriteStatus status);

// None: the glob is too long, and the error is answered. `name` is the command or the option that
// the glob belongs to.
std::optional<engine::Glob> ReadGlob(Invocation& call, std::string_view name,
                                     std::string_view glob);
// True: the transaction under way has matched so much that the command is refused, and the error
// is answered.
bool RefusesToMatch(Invocation& call);

// The reply of CONTAINER HELP.
void AnswerHelp(Invocation& call);

}  // namespace fairlock::command
