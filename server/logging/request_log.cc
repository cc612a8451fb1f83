#include "server/logging/request_log.h"

#include <utility>

#include "server/net/clock.h"

namespace fairlock::server {

void RequestLog::LogWarning(std::string_view text) { log_.Warning("{}", text); }

void RequestLog::LogAudit(std::string_view text) { log_.Audit(text); }

void RequestLog::LogFromScript(script::LogLevel level, std::string_view text) {
  if (level == script::LogLevel::kWarning) {
    log_.Warning("a script says {}", Escaped(text));
  } else if (level == script::LogLevel::kNotice) {
    log_.Info("a script says {}", Escaped(text));
  } else {
    log_.Debug("a script says {}", Escaped(text));
  }
}

void RequestLog::LogFailedLogIn(std::string_view address, std::string_view user) {
  if (!failed_log_ins_.Take(net::BoottimeMs())) return;
  log_.Warning("log-in failed: user {} from {}{}", Escaped(user), address,
               failed_log_ins_.TakeUnwritten());
}

void RequestLog::LogMemoryShort(bool is_short, std::uint64_t used_bytes, std::uint64_t bytes_max) {
  if (!is_short) {
    if (std::exchange(is_shortage_logged_, false)) {
      log_.Info("memory: {} bytes are in use, and new locks are granted again", used_bytes);
    }
    return;
  }
  const std::uint64_t count = shortages_.CountToLog(net::BoottimeMs());
  is_shortage_logged_ = count > 0;
  if (count == 0) return;
  log_.Warning(
      "memory: {} bytes are in use, and max_memory is {}: new locks are refused ({} times)",
      used_bytes, bytes_max, count);
}

namespace {

const char* OptionBehind(command::ClosedNewcomer why) {
  switch (why) {
    case command::ClosedNewcomer::kTooSlow:
      return "unauthenticated_timeout";
    case command::ClosedNewcomer::kOneTooMany:
      return "max_unauthenticated_clients";
    case command::ClosedNewcomer::kInTheWay:
      return "max_clients";
  }
  return "";
}

}  // namespace

void RequestLog::LogClosedNewcomer(command::ClosedNewcomer why, std::string_view address,
                                   engine::TimeMs now) {
  const bool is_slow = why == command::ClosedNewcomer::kTooSlow;
  LogThrottle& recurrence = is_slow ? slow_newcomers_ : newcomers_too_many_;
  if (const std::uint64_t count = recurrence.CountToLog(now); count > 0) {
    log_.Warning("connections closed because they had not logged in ({}): {}, last {}",
                 OptionBehind(why), count, address);
  }
}

}  // namespace fairlock::server
