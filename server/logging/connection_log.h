// Logs events of connections.
#pragma once

#include <string_view>

#include "server/logging/log_throttle.h"
#include "server/logging/logging.h"
#include "server/net/net_events.h"

namespace fairlock::server {

// Events that clients can cause at will are logged at most once per kQuietMs, with a count.
// Loop-confined.
class ConnectionLog final : public net::NetEvents {
 public:
  static constexpr engine::DurationMs kQuietMs = LogThrottle::kQuietMs;

  explicit ConnectionLog(Log& log) : log_(log) {}

  void LogOpened(const command::ClientProfile& client) override;
  void LogClosed(const command::ClientProfile& client, net::CloseReason reason,
                 engine::TimeMs now) override;
  void LogRefused(std::string_view peer, const net::Refusal& refusal, engine::TimeMs now) override;
  void LogAcceptFailed(int error, engine::TimeMs now) override;
  void LogHandshakeFailed(std::string_view peer, std::string_view why, engine::TimeMs now) override;
  void LogUnexpectedTls(std::string_view peer, engine::TimeMs now) override;

 private:
  void LogOverLimit(LogThrottle& recurrence, std::string_view what,
                    const command::ClientProfile& client, engine::TimeMs now);

  Log& log_;
  LogThrottle refused_;
  LogThrottle refused_by_address_;
  LogThrottle refused_http_;
  LogThrottle refused_at_sentinel_;
  LogThrottle accept_failed_;
  LogThrottle over_output_limit_;
  LogThrottle over_all_output_limit_;
  LogThrottle over_input_limit_;
  LogThrottle over_all_input_limit_;
  LogThrottle over_request_deadline_;
  LogThrottle handshake_failed_;
  LogThrottle unexpected_tls_;
};

}  // namespace fairlock::server
