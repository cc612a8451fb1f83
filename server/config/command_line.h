// The command line of fairlockd.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "server/config/config.h"

namespace fairlock::server {

enum class Action : std::uint8_t {
  kRun,
  kCheckConfig,
  kPrintConfig,
  kCheckData,
  kRestore,
  kHashPassword,
  kShowVersion,
  kShowHelp
};

struct CommandLine {
  Action action = Action::kRun;
  std::string config_file;   // absolute; empty: none
  Config config;             // defaults, then the file, then the command line
  bool initialises = false;  // an empty data folder is meant to be one
  std::string backup;        // of kRestore
  std::string error;         // what is wrong, and what would be right; empty: nothing
};

// `arguments` without the program's name.
CommandLine ReadCommandLine(std::span<const char* const> arguments);

}  // namespace fairlock::server
