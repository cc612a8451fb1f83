// Third-party scripts that take a lock without SET NX.
#pragma once

#include "server/script/digest.h"

namespace fairlock::command {

// Whether the script, called with one key, the value and a lease in ms, takes the lock with EXISTS
// and SET, which has the same effect as SET NX. When the lock is denied, the script does not pass
// the value to any command.
bool AsksByExists(const script::Digest& digest);

}  // namespace fairlock::command
