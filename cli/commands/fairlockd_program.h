// Runs fairlockd for work that needs its libraries.
#pragma once

#include <string>
#include <vector>

#include "cli/base/result.h"

namespace fairlock::cli {

// Runs the fairlockd beside this program, or else the one in PATH, and waits until it ends. With
// `output_to_errors`, what it prints goes to standard error. Fails if it cannot be run or does not
// succeed; it has then printed why.
Result<int> RunFairlockd(const std::vector<std::string>& arguments, bool output_to_errors);

}  // namespace fairlock::cli
