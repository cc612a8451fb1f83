// Scripts of others that take a lock without SET NX.
#pragma once

#include "server/script/digest.h"

namespace fairlock::command {

// Whether the script, called with one key, the value and a lease in ms, takes the lock by EXISTS
// and SET: the same as SET NX, which it would be if that had been there first. Of such a script the
// server sees no value that was denied.
bool AsksByExists(const script::Digest& digest);

}  // namespace fairlock::command
