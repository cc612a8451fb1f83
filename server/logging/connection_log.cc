#include "server/logging/connection_log.h"

#include <cstring>

namespace fairlock::server {

void ConnectionLog::LogOpened(const command::ClientProfile& client) {
  log_.Debug("client {} connected from {}", client.id, client.address.peer);
}

void ConnectionLog::LogClosed(const command::ClientProfile& client, net::CloseReason reason,
                              engine::TimeMs now) {
  log_.Debug("client {} from {} disconnected: {}", client.id, client.address.peer,
             net::NameOf(reason));
  if (reason == net::CloseReason::kOutputLimit) {
    LogOverLimit(over_output_limit_, "did not read their replies (output_limit)", client, now);
  } else if (reason == net::CloseReason::kAllOutputLimit) {
    LogOverLimit(over_all_output_limit_,
                 "had the most unread replies when the total was too large (output_limit_total)",
                 client, now);
  } else if (reason == net::CloseReason::kInputLimit) {
    LogOverLimit(over_input_limit_, "sent more than 1 MB after a waiting request", client, now);
  } else if (reason == net::CloseReason::kAllInputLimit) {
    LogOverLimit(over_all_input_limit_,
                 "had the most unexecuted input when the total was too large (input_limit_total)",
                 client, now);
  } else if (reason == net::CloseReason::kRequestDeadline) {
    LogOverLimit(over_request_deadline_, "did not send the rest of a request (request_deadline)",
                 client, now);
  }
}

void ConnectionLog::LogOverLimit(LogThrottle& recurrence, std::string_view what,
                                 const command::ClientProfile& client, engine::TimeMs now) {
  if (const std::uint64_t count = recurrence.CountToLog(now); count > 0) {
    log_.Warning("connections closed because they {}: {}, last {} {}", what, count,
                 client.address.peer, Escaped(client.name));
  }
}

void ConnectionLog::LogRefused(std::string_view peer, const net::Refusal& refusal,
                               engine::TimeMs now) {
  if (refusal.is_http) {
    if (const std::uint64_t count = refused_http_.CountToLog(now); count > 0) {
      log_.Warning(
          "HTTP connections closed because of http_max_clients ({}), incomplete and idle ones "
          "first: {}, most recently to make room for {}",
          refusal.connections_max, count, peer);
    }
    return;
  }
  if (refusal.is_sentinel) {
    if (const std::uint64_t count = refused_at_sentinel_.CountToLog(now); count > 0) {
      log_.Warning("connections to sentinel_port refused, because it allows only {}: {}, last {}",
                   refusal.connections_max, count, peer);
    }
    return;
  }
  LogThrottle& recurrence = refusal.is_by_address ? refused_by_address_ : refused_;
  if (const std::uint64_t count = recurrence.CountToLog(now); count > 0) {
    log_.Warning("connections refused because of {} ({}): {}, last {}",
                 refusal.is_by_address ? "max_clients_per_address" : "max_clients",
                 refusal.connections_max, count, peer);
  }
}

void ConnectionLog::LogAcceptFailed(int error, engine::TimeMs now) {
  if (const std::uint64_t count = accept_failed_.CountToLog(now); count > 0) {
    log_.Error(
        "cannot accept connections: {} ({} times); they are left waiting; raise the limit on open "
        "files (ulimit -n) or lower max_clients",
        std::strerror(error), count);
  }
}

void ConnectionLog::LogHandshakeFailed(std::string_view peer, std::string_view why,
                                       engine::TimeMs now) {
  log_.Debug("TLS handshake with {} failed: {}", peer, Escaped(why));
  if (const std::uint64_t count = handshake_failed_.CountToLog(now); count > 0) {
    log_.Warning("failed TLS handshakes: {}, last with {}: {}", count, peer, Escaped(why));
  }
}

void ConnectionLog::LogUnexpectedTls(std::string_view peer, engine::TimeMs now) {
  if (const std::uint64_t count = unexpected_tls_.CountToLog(now); count > 0) {
    log_.Warning("TLS clients on the plaintext port: {}, last {}; they should use tls_port", count,
                 peer);
  }
}

}  // namespace fairlock::server
