#include "server/serve.h"

#include <sys/prctl.h>

#include <csignal>
#include <memory>

#include "server/logging/logging.h"
#include "server/process/out_of_memory.h"
#include "server/server.h"
#include "server/services/cluster_settings.h"
#include "server/services/history_file.h"
#include "server/services/tls_service.h"
#include "server/services/user_service.h"

namespace fairlock::server {

namespace {

ServeEnd RunServer(const CommandLine& line, std::span<const char* const> options, Log& log,
                   std::string& error) {
  Server server(line.config, line.config_file, log);
  server.set_reread([options] { return ReadCommandLine(options); });
  error = server.Start(line.initialises);
  if (!error.empty()) {
    if (!line.config.log_file.empty()) log.Error("{}", error);
    return ServeEnd::kFailed;
  }
  switch (server.Run()) {
    case RunEnd::kStopped:
      return ServeEnd::kStopped;
    case RunEnd::kNotLoaded:
      error = server.end_reason();
      return ServeEnd::kFailed;
    case RunEnd::kStorageFailed:
      return ServeEnd::kStorageFailed;
    case RunEnd::kDeposed:
      return ServeEnd::kDeposed;
  }
  return ServeEnd::kFailed;
}

}  // namespace

ServeEnd Serve(const CommandLine& line, std::span<const char* const> options, std::string& error) {
  // A process that started again from /proc/self/exe would be named after that file.
  ::prctl(PR_SET_NAME, "fairlockd");
  std::signal(SIGPIPE, SIG_IGN);
  const std::unique_ptr<Log> log =
      Log::Open({.level = line.config.log_level, .file = line.config.log_file}, error);
  if (log == nullptr) return ServeEnd::kFailed;
  EndWhenOutOfMemory(log->descriptor());
  // The log is flushed at the end, so that the caller prints the error after its lines.
  return RunServer(line, options, *log, error);
}

std::string CheckConfig(const Config& config) {
  for (const auto check : {CheckUsers, CheckTls, CheckCluster, CheckHistory}) {
    if (std::string wrong = check(config); !wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace fairlock::server
