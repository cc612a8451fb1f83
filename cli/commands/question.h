// Asks the one at the terminal before something is done that cannot be undone.
#pragma once

#include <string>

#include "cli/arguments/command.h"
#include "cli/base/result.h"

namespace fairlock::cli {

// True: "y" or "yes" was typed. A failure when there is no terminal to ask on; it names `--yes`.
Result<bool> Confirm(const Context& context, const std::string& question);

}  // namespace fairlock::cli
