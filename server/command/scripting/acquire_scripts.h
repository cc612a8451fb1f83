// Third-party scripts that take a lock without SET NX.
#pragma once

#include "server/script/digest.h"

namespace fairlock::command {

// Whether the script, called with one key, the value and a lease in ms, takes the lock by EXISTS
// and SET. Its effect is that of SET NX. When the lock is denied, the script passes the value to no
// command.
bool AsksByExists(const script::Digest& digest);

}  // namespace fairlock::command
