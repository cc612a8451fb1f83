#include "server/logging/logging.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "server/command/table/text.h"

namespace fairlock::server {

namespace {

// The loop's thread handles signals; the log thread must not receive any.
void BlockSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

std::unique_ptr<Log> Log::Open(const LogOptions& options, std::string& error) {
  int descriptor = STDERR_FILENO;
  if (!options.file.empty()) {
    descriptor = open(options.file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
  }
  if (descriptor < 0) {
    error = "log_file: cannot write to " + options.file + ": " + std::strerror(errno) +
            "; it must be a file in an existing directory that this user may write to";
    return nullptr;
  }
  auto log = std::unique_ptr<Log>(
      new Log(std::make_shared<LogSink>(descriptor, descriptor != STDERR_FILENO)));
  log->SetLevel(options.level);
  return log;
}

Log::Log(std::shared_ptr<LogSink> sink)
    : sink_(std::move(sink)),
      pool_(std::make_shared<spdlog::details::thread_pool>(kQueuedLinesMax, 1, BlockSignals)),
      logger_(std::make_shared<spdlog::async_logger>(
          "fairlockd", sink_, pool_, spdlog::async_overflow_policy::overrun_oldest)),
      audit_logger_(std::make_shared<spdlog::async_logger>(
          "audit", sink_, pool_, spdlog::async_overflow_policy::overrun_oldest)) {
  sink_->CountDropsOf(*pool_);
  logger_->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
}

Log::~Log() {
  sink_->GiveUpSoon();
  // Joins the log thread after it has written the last queued line.
  pool_.reset();
}

void Log::SetLevel(LogLevel level) {
  constexpr std::array kLevels = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                  spdlog::level::err};
  logger_->set_level(kLevels[static_cast<std::size_t>(level)]);
}

std::string Escaped(std::string_view client_bytes) { return command::Quoted(client_bytes); }

}  // namespace fairlock::server
