// What the command line of the tool looks like, for those who describe it elsewhere.
#pragma once

#include <string>
#include <vector>

namespace fairlock::cli {

struct OptionModel {
  std::vector<std::string> names;  // "--wait", "-w"; empty: positional
  std::string help;
  std::string value;                 // "DURATION"; empty: a flag
  std::vector<std::string> choices;  // the only values, if there are so few
  std::string known_to_server;       // what `complete` finds: "keys", "labels", "options" or empty
};

struct CommandModel {
  std::string name;
  std::string summary;
  std::vector<OptionModel> options;
  std::vector<CommandModel> commands;  // below it, as in `limit set`
};

struct ProgramModel {
  std::vector<OptionModel> options;  // of every command
  std::vector<CommandModel> commands;
};

}  // namespace fairlock::cli
