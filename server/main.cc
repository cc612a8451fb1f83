// The main program of fairlockd.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <span>
#include <string>

#include "server/config/command_line.h"
#include "server/config/config_text.h"
#include "server/process/password_tool.h"
#include "server/process/version.h"
#include "server/serve.h"
#include "server/services/cluster_tools.h"
#include "server/services/data_tools.h"

namespace {

using fairlock::server::Action;
using fairlock::server::CommandLine;
using fairlock::server::ServeEnd;

constexpr int kWrongOptions = 2;

int Fail(const std::string& error) {
  std::cerr << "fairlockd: " << error << '\n';
  return EXIT_FAILURE;
}

// Checks the log in etcd if this is a node of a fleet; otherwise checks the data folder.
bool CheckData(const fairlock::server::Config& config) {
  return config.cluster_etcd.empty() ? fairlock::server::PrintDataReport(config)
                                     : fairlock::server::PrintLogReport(config);
}

bool CreateFleet(const CommandLine& line) {
  if (line.copied_fleet.empty()) {
    return fairlock::server::CreateFleet(line.config, line.partitions);
  }
  return fairlock::server::CopyFleet(line.config, line.partitions,
                                     {.fleet = line.copied_fleet, .etcd = line.copied_etcd});
}

// Serves, and returns the exit status.
int RunServer(const CommandLine& line, std::span<const char* const> options, char** argv) {
  std::string error;
  const ServeEnd end = fairlock::server::Serve(line, options, error);
  if (!error.empty()) return Fail(error);
  switch (end) {
    case ServeEnd::kStopped:
      return EXIT_SUCCESS;
    case ServeEnd::kFailed:
      return EXIT_FAILURE;
    case ServeEnd::kStorageFailed:
      // The database stays open and its threads still run, so exit without destructors.
      std::_Exit(fairlock::server::kStorageFailedStatus);
    case ServeEnd::kDeposed:
      // Executes the program again, so that no state of the lost leadership is left.
      ::execv("/proc/self/exe", argv);
      return Fail("cannot start again: " + std::string(std::strerror(errno)));
  }
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  // Keys, owners and META are nobody else's business, whatever the shell's umask is.
  ::umask(S_IRWXG | S_IRWXO);
  const std::span<const char* const> arguments(argv, static_cast<std::size_t>(argc));
  const auto options = arguments.subspan(argc > 0 ? 1 : 0);
  const CommandLine line = fairlock::server::ReadCommandLine(options);
  if (!line.error.empty()) {
    Fail(line.error);
    return kWrongOptions;
  }
  switch (line.action) {
    case Action::kShowHelp:
      std::cout << fairlock::server::HelpText();
      return EXIT_SUCCESS;
    case Action::kShowVersion:
      std::cout << "fairlockd " << fairlock::server::Version() << '\n';
      return EXIT_SUCCESS;
    case Action::kPrintConfig:
      std::cout << fairlock::server::ConfigFileText(line.config);
      return EXIT_SUCCESS;
    case Action::kCheckConfig:
      if (const std::string wrong = fairlock::server::CheckConfig(line.config); !wrong.empty()) {
        Fail(wrong);
        return kWrongOptions;
      }
      std::cout << (line.config_file.empty() ? "the options" : line.config_file) << ": valid\n";
      return EXIT_SUCCESS;
    case Action::kCheckData:
      return CheckData(line.config) ? EXIT_SUCCESS : EXIT_FAILURE;
    case Action::kSalvage:
      return fairlock::server::SalvageFolder(line.config) ? EXIT_SUCCESS : EXIT_FAILURE;
    case Action::kImport:
      return fairlock::server::ImportData(line.config, line.imported) ? EXIT_SUCCESS : EXIT_FAILURE;
    case Action::kCreateFleet:
      return CreateFleet(line) ? EXIT_SUCCESS : EXIT_FAILURE;
    case Action::kRestore:
      return fairlock::server::RestoreBackup(line.config, line.backup) ? EXIT_SUCCESS
                                                                       : EXIT_FAILURE;
    case Action::kHashPassword:
      return fairlock::server::PrintPasswordHash() ? EXIT_SUCCESS : EXIT_FAILURE;
    case Action::kRun:
      return RunServer(line, options, argv);
  }
  return EXIT_FAILURE;
}
