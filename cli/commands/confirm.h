// Asks the user for confirmation before an action that cannot be undone.
#pragma once

#include <string>

#include "cli/arguments/command.h"
#include "cli/base/result.h"

namespace fairlock::cli {

// Returns true if the user typed "y" or "yes". Fails if there is no terminal; the failure names
// --yes.
Result<bool> Confirm(const Context& context, const std::string& question);

}  // namespace fairlock::cli
