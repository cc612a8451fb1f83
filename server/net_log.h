// Logs what happens on the sockets.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/logging.h"
#include "server/net/net_events.h"

namespace fairlock::server {

// What clients can cause at will is logged at most once in kQuietMs, with a count. Loop-confined.
class NetLog final : public net::NetEvents {
 public:
  static constexpr engine::DurationMs kQuietMs = 10'000;

  explicit NetLog(Log& log) : log_(log) {}

  void NoteOpened(const command::ClientProfile& client) override;
  void NoteClosed(const command::ClientProfile& client, net::CloseReason reason,
                  engine::TimeMs now) override;
  void NoteRefused(std::string_view peer, std::size_t connections_max, engine::TimeMs now) override;
  void NoteAcceptFailed(int error, engine::TimeMs now) override;
  void NoteHandshakeFailed(std::string_view peer, std::string_view why,
                           engine::TimeMs now) override;
  void NoteUnexpectedTls(std::string_view peer, engine::TimeMs now) override;

 private:
  // How often something happened since it was last logged.
  class Recurrence {
   public:
    // 0: not to be logged now.
    std::uint64_t CountToLog(engine::TimeMs now);

   private:
    std::uint64_t count_ = 0;
    engine::TimeMs quiet_until_ = 0;
  };

  Log& log_;
  Recurrence refused_;
  Recurrence accept_failed_;
  Recurrence over_output_limit_;
  Recurrence handshake_failed_;
  Recurrence unexpected_tls_;
};

}  // namespace fairlock::server
