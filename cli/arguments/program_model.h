// A description of the whole command line, for completion scripts.
#pragma once

#include <string>
#include <vector>

namespace fairlock::cli {

struct OptionModel {
  std::vector<std::string> names;  // "--wait", "-w"; empty if it is positional
  std::string help;
  std::string value;                 // "DURATION"; empty if it is a flag
  std::vector<std::string> choices;  // the allowed values, if they are a fixed list
  // the KIND of names that `complete` offers as values: "keys", "labels", "options", or empty
  std::string known_to_server;
};

struct CommandModel {
  std::string name;
  std::string summary;
  std::vector<OptionModel> options;
  std::vector<CommandModel> commands;  // its subcommands, as in `limit set`
};

struct ProgramModel {
  std::vector<OptionModel> options;  // options that every command takes
  std::vector<CommandModel> commands;
};

}  // namespace fairlock::cli
