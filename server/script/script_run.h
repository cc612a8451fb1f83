// One run of a script, from its arguments to its reply.
#pragma once

#include <string>

#include "server/script/sandbox.h"
#include "server/script/script_cache.h"

namespace fairlock::script {

struct RunOptions;

// Runs the script and appends exactly one reply: the value that the script returned, or its error
// with the position in the script. Returns true if the reply is an error.
bool RunScript(Sandbox& sandbox, const Script& script, const RunState& run,
               const RunOptions& options, std::string& out);

}  // namespace fairlock::script
