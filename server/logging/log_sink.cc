#include "server/logging/log_sink.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace fairlock::server {

namespace {

constexpr int kWaitMs = 100;

}  // namespace

LogSink::~LogSink() {
  if (is_owner_) close(descriptor_);
}

void LogSink::sink_it_(const spdlog::details::log_msg& message) {
  ReportDrops();
  spdlog::memory_buf_t formatted;
  formatter_->format(message, formatted);
  if (!Write({formatted.data(), formatted.size()})) ++drops_here_;
}

void LogSink::ReportDrops() {
  const std::size_t drops = drops_here_ + (pool_ != nullptr ? pool_->overrun_counter() : 0);
  if (drops == drops_reported_) return;
  const std::string line = "log lines lost because nothing was reading the log: " +
                           std::to_string(drops - drops_reported_) + "\n";
  if (Write(line)) drops_reported_ = drops;
}

bool LogSink::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!WaitForRoom()) return false;
    // A writable pipe accepts PIPE_BUF bytes without blocking.
    const ssize_t written =
        write(descriptor_, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
    if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool LogSink::WaitForRoom() {
  pollfd polled{.fd = descriptor_, .events = POLLOUT, .revents = 0};
  while (poll(&polled, 1, waits_left_ > 0 ? kWaitMs : 0) == 0) {
    if (is_ending_.load() && waits_left_-- <= 0) {
      waits_left_ = 0;
      return false;
    }
  }
  return true;
}

}  // namespace fairlock::server
