// What was typed, taken apart.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/arguments/command.h"
#include "cli/arguments/program_model.h"
#include "cli/base/result.h"
#include "cli/connection/settings.h"

namespace fairlock::cli {

struct CommandLine {
  std::string text_to_show;  // the help or the version was asked for; nothing else is to be done
  Action action;
  SettingSource flags;
  std::optional<std::string> settings_path;
  std::vector<std::string> behind_dashes;
  ProgramModel model;
};

// `arguments` are without the program's name.
Result<CommandLine> ReadCommandLine(std::span<const char* const> arguments);

}  // namespace fairlock::cli
