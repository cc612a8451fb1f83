// Logs events caused by requests.
#pragma once

#include <string_view>

#include "server/command/environment/environment.h"
#include "server/logging/log_throttle.h"
#include "server/logging/logging.h"

namespace fairlock::server {

// Events that clients can cause at will are logged at most once per LogThrottle::kQuietMs, with a
// count; failed log-ins, whose users and addresses matter, at most kFailedLogInsMax times per
// LineBudget::kPeriodMs. Loop-confined.
class RequestLog final : public command::CommandLog {
 public:
  static constexpr std::uint64_t kFailedLogInsMax = 20;

  explicit RequestLog(Log& log) : log_(log) {}

  void LogWarning(std::string_view text) override;
  void LogAudit(std::string_view text) override;
  void LogFromScript(script::LogLevel level, std::string_view text) override;
  void LogFailedLogIn(std::string_view address, std::string_view user) override;
  void LogMemoryShort(bool is_short, std::uint64_t used_bytes, std::uint64_t bytes_max) override;
  void LogClosedNewcomer(command::ClosedNewcomer why, std::string_view address,
                         engine::TimeMs now) override;

 private:
  Log& log_;
  command::LineBudget failed_log_ins_{kFailedLogInsMax};
  LogThrottle slow_newcomers_;
  LogThrottle newcomers_too_many_;
  LogThrottle shortages_;  // for the lines about a shortage of memory
  bool is_shortage_logged_ = false;
};

}  // namespace fairlock::server
