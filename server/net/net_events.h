// What happens on the sockets that an operator may want to know of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/command/client/client.h"

namespace fairlock::net {

enum class CloseReason : std::uint8_t {
  kPeerClosed,       // end of file
  kPeerFailed,       // reset, or unreachable for too long
  kAnswered,         // QUIT, or a protocol error that was answered
  kKilled,           // another connection asked for it
  kOutputLimit,      // it does not read what it asks for
  kAllOutputLimit,   // many do not, and it has asked for the most
  kInputLimit,       // it goes on sending behind a request that waits
  kAllInputLimit,    // many send what cannot be executed yet, and it has sent the most
  kRequestDeadline,  // it did not send the rest of a request
  kLingered,         // it did not take its last replies in time
  kServerStops,
};

std::string_view NameOf(CloseReason reason);

// Why a new connection was closed at once, or, over HTTP, one that was idle.
struct Refusal {
  bool is_by_address = false;  // its address has as many, else there are as many of all
  bool is_http = false;        // over HTTP, where others count
  std::size_t connections_max = 0;
};

// Implemented by the server, which logs, and faked in tests. Loop-confined; must not block.
class NetEvents {
 public:
  virtual void LogOpened(const command::ClientProfile& client) = 0;
  virtual void LogClosed(const command::ClientProfile& client, CloseReason reason,
                          engine::TimeMs now) = 0;
  virtual void LogRefused(std::string_view peer, const Refusal& refusal, engine::TimeMs now) = 0;
  // Accepting pauses for a moment; `error` is an errno.
  virtual void LogAcceptFailed(int error, engine::TimeMs now) = 0;
  // A TLS handshake failed.
  virtual void LogHandshakeFailed(std::string_view peer, std::string_view why,
                                   engine::TimeMs now) = 0;
  // A client sent TLS to a port without TLS.
  virtual void LogUnexpectedTls(std::string_view peer, engine::TimeMs now) = 0;

 protected:
  ~NetEvents() = default;
};

}  // namespace fairlock::net
