// Recognises third-party scripts that take a lock without SET NX.
#pragma once

#include "server/script/digest.h"

namespace fairlock::command {

// Whether the script, called with one key, the value and a lease in ms, takes the lock with EXISTS
// and SET, which together have the same effect as SET NX. If the key is held, such a script does
// not pass the value to any command.
bool AsksByExists(const script::Digest& digest);

}  // namespace fairlock::command
