// Parses the command line.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/arguments/command.h"
#include "cli/base/result.h"
#include "cli/connection/settings.h"

namespace fairlock::cli {

struct CommandLine {
  std::string text_to_show;  // the help or the version, if requested; then nothing else is done
  Action action;
  SettingSource flags;
  std::optional<std::string> settings_path;
  std::vector<std::string> after_dashes;
  ProgramModel model;
};

// `arguments` does not include the program's name.
Result<CommandLine> ReadCommandLine(std::span<const char* const> arguments);

}  // namespace fairlock::cli
