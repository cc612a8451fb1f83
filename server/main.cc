// The main program of fairlockd.
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <span>
#include <string>

#include "server/config/command_line.h"
#include "server/config/config_text.h"
#include "server/logging/logging.h"
#include "server/process/out_of_memory.h"
#include "server/process/password_tool.h"
#include "server/process/version.h"
#include "server/server.h"
#include "server/services/cluster_settings.h"
#include "server/services/cluster_tools.h"
#include "server/services/data_tools.h"
#include "server/services/tls_service.h"
#include "server/services/user_service.h"

namespace {

using fairlock::server::Action;
using fairlock::server::CommandLine;

constexpr int kWrongOptions = 2;
constexpr int kStorageFailed = 3;
constexpr int kStartAgain = -1;  // internal: the process never exits with this status

int Fail(const std::string& error) {
  std::cerr << "fairlockd: " << error << '\n';
  return EXIT_FAILURE;
}

// Returns the exit status; sets `failure` to the reason if the server could not start or continue.
int RunServer(const CommandLine& line, std::span<const char* const> arguments,
              fairlock::server::Log& log, std::string& failure) {
  fairlock::server::Server server(line.config, line.config_file, log);
  server.set_reread([arguments] { return fairlock::server::ReadCommandLine(arguments); });
  failure = server.Start(line.initialises);
  if (!failure.empty()) {
    if (!line.config.log_file.empty()) log.Error("{}", failure);
    return EXIT_FAILURE;
  }
  switch (server.Run()) {
    case fairlock::server::RunEnd::kStopped:
      return EXIT_SUCCESS;
    case fairlock::server::RunEnd::kNotLoaded:
      failure = server.end_reason();
      return EXIT_FAILURE;
    case fairlock::server::RunEnd::kStorageFailed:
      return kStorageFailed;
    case fairlock::server::RunEnd::kDeposed:
      return kStartAgain;
  }
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

int Serve(const CommandLine& line, std::span<const char* const> arguments) {
  // A process that started again from /proc/self/exe would be named after that file.
  ::prctl(PR_SET_NAME, "fairlockd");
  std::signal(SIGPIPE, SIG_IGN);
  std::string error;
  std::unique_ptr<fairlock::server::Log> log = fairlock::server::Log::Open(
      {.level = line.config.log_level, .file = line.config.log_file}, error);
  if (log == nullptr) return Fail(error);
  fairlock::server::EndWhenOutOfMemory(log->descriptor());
  const int status = RunServer(line, arguments, *log, error);
  // Flush the log first, so that the error is printed after its lines.
  log.reset();
  return error.empty() ? status : Fail(error);
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
      for (const auto check : {fairlock::server::CheckUsers, fairlock::server::CheckTls,
                               fairlock::server::CheckCluster}) {
        if (const std::string wrong = check(line.config); !wrong.empty()) {
          Fail(wrong);
          return kWrongOptions;
        }
      }
      std::cout << (line.config_file.empty() ? "the options" : line.config_file) << ": valid\n";
      return EXIT_SUCCESS;
    case Action::kCheckData:
      return CheckData(line.config) ? EXIT_SUCCESS : EXIT_FAILURE;
    case Action::kImport:
      return fairlock::server::ImportData(line.config, line.imported) ? EXIT_SUCCESS : EXIT_FAILURE;
    case Action::kCreateFleet:
      return CreateFleet(line) ? EXIT_SUCCESS : EXIT_FAILURE;
    case Action::kRestore:
      return fairlock::server::RestoreBackup(line.config, line.backup) ? EXIT_SUCCESS
                                                                       : EXIT_FAILURE;
    case Action::kHashPassword:
      return fairlock::server::PrintPasswordHash() ? EXIT_SUCCESS : EXIT_FAILURE;
    case Action::kRun: {
      const int status = Serve(line, options);
      // Executes the program again, so that no state of the lost leadership is left.
      if (status == kStartAgain) {
        ::execv("/proc/self/exe", argv);
        return Fail("cannot start again: " + std::string(std::strerror(errno)));
      }
      // After a storage failure, the database stays open and its threads still run, so exit without
      // destructors.
      if (status == kStorageFailed) std::_Exit(status);
      return status;
    }
  }
  return EXIT_FAILURE;
}
