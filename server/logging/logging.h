// The server's log.
//
// Levels: error, the operator must act; warning, clients are refused or cut off; info, starts,
// stops and changes of the operator; debug, connections that come and go.
#pragma once

#include <spdlog/async.h>

#include <memory>
#include <string>
#include <string_view>

#include "server/logging/log_sink.h"

namespace fairlock::server {

struct LogOptions {
  std::string level = "info";  // debug, info, warning or error
  std::string file;            // empty: standard error
};

// Lines are written by a thread of its own. A sink that blocks never blocks the caller: when the
// queue is full the oldest lines are dropped. Thread-safe, except SetLevel.
class Log {
 public:
  // Null: it cannot be opened, and `error` says why and what would be right.
  static std::unique_ptr<Log> Open(const LogOptions& options, std::string& error);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  // Gives what is queued a fraction of a second to be written.
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

  void SetLevel(std::string_view level);
  // Where the lines go; open as long as the log is.
  int descriptor() const { return sink_->descriptor(); }

 private:
  explicit Log(std::shared_ptr<LogSink> sink);

  static constexpr std::size_t kQueuedLinesMax = 4096;

  std::shared_ptr<LogSink> sink_;
  std::shared_ptr<spdlog::details::thread_pool> pool_;
  std::shared_ptr<spdlog::async_logger> logger_;
};

// Bytes that a client chose, as they may stand in a log line: in quotes, one line, cut when long.
std::string Escaped(std::string_view client_bytes);

}  // namespace fairlock::server
