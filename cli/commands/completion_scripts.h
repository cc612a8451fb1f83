// The command line of the tool, told to shells.
#pragma once

#include <string>

#include "cli/arguments/program_model.h"

namespace fairlock::cli {

// Each is a whole script, to be read by the shell or put where it looks for completions.
std::string BashCompletion(const ProgramModel& model);
std::string ZshCompletion(const ProgramModel& model);
std::string FishCompletion(const ProgramModel& model);

}  // namespace fairlock::cli
