// Generates shell completion scripts from the description of the command line.
#pragma once

#include <string>

#include "cli/arguments/command.h"

namespace fairlock::cli {

// Each returns a complete script, to be sourced or installed in the shell's completion folder.
std::string BashCompletion(const ProgramModel& model);
std::string ZshCompletion(const ProgramModel& model);
std::string FishCompletion(const ProgramModel& model);

}  // namespace fairlock::cli
