// The server's log.
//
// An error means that the operator must act, and a warning that clients are refused or
// disconnected. Starts, stops and configuration changes are info, and opened and closed connections
// are debug. The lines of the audit are written at every level.
#pragma once

#include <spdlog/async.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/logging/log_sink.h"

namespace fairlock::server {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  std::string file;  // empty means standard error
};

// A dedicated thread writes the lines, so a sink that blocks never blocks the caller. When the
// queue is full, the oldest lines are dropped. Thread-safe, except SetLevel.
class Log {
 public:
  // Null if the log cannot be opened; `error` then says why, and which values are allowed.
  static std::unique_ptr<Log> Open(const LogOptions& options, std::string& error);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  // Waits up to a fraction of a second for queued lines to be written.
  ~Log();

  template <typename... Values>
  void Error(spdlog::format_string_t<Values...> format, Values&&... values) {
    logger_->error(format, std::forward<Values>(values)...);
  }
  template <typename... Values>
  void Warning(spdlog::format_string_t<Values...> format, Values&&... values) {
    logger_->warn(format, std::forward<Values>(values)...);
  }
  template <typename... Values>
  void Info(spdlog::format_string_t<Values...> format, Values&&... values) {
    logger_->info(format, std::forward<Values>(values)...);
  }
  template <typename... Values>
  void Debug(spdlog::format_string_t<Values...> format, Values&&... values) {
    logger_->debug(format, std::forward<Values>(values)...);
  }

  // Writes "audit: TEXT" as information that no level leaves out.
  void Audit(std::string_view text) { audit_logger_->info("audit: {}", text); }

  void SetLevel(LogLevel level);
  // The descriptor that lines are written to; open during the lifetime of the log.
  int descriptor() const { return sink_->descriptor(); }

 private:
  explicit Log(std::shared_ptr<LogSink> sink);

  static constexpr std::size_t kQueuedLinesMax = 4096;

  std::shared_ptr<LogSink> sink_;
  std::shared_ptr<spdlog::details::thread_pool> pool_;
  std::shared_ptr<spdlog::async_logger> logger_;
  std::shared_ptr<spdlog::async_logger> audit_logger_;  // uses the same sink, at its own level
};

// Makes bytes that came from a client safe for the log: quoted, on one line, truncated when long.
std::string Escaped(std::string_view client_bytes);

}  // namespace fairlock::server
