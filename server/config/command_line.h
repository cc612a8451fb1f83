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
  kSalvage,
  kRestore,
  kImport,
  kCreateFleet,
  kHashPassword,
  kShowVersion,
  kShowHelp
};

struct CommandLine {
  Action action = Action::kRun;
  std::string config_file;   // absolute; empty: none
  Config config;             // defaults, then the file, then the command line
  bool initialises = false;  // the data folder may be empty (--init)
  std::string backup;        // kRestore: the backup's path
  std::string imported;      // kImport: the path of the data folder to import
  std::string partitions;    // kCreateFleet: how many partitions the fleet has
  std::string copied_fleet;  // kCreateFleet: the name of the fleet to copy; empty: none
  std::string copied_etcd;   // the members of etcd that store that fleet; empty: cluster_etcd
  std::string error;         // what is wrong and what is allowed; empty: no error
};

// `arguments` must not include the program's name.
CommandLine ReadCommandLine(std::span<const char* const> arguments);

}  // namespace fairlock::server
