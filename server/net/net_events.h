// The logged events of connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/command/client/client.h"

namespace fairlock::net {

enum class CloseReason : std::uint8_t {
  kPeerClosed,         // end of file
  kPeerFailed,         // reset, or unreachable for too long
  kAnswered,           // the reply to QUIT or to a protocol error has been sent
  kKilled,             // by a command
  kOutputLimit,        // it does not read its replies
  kAllOutputLimit,     // the unread replies of all connections are too large, and it has the most
  kInputLimit,         // it has sent too much while a request of it waits
  kAllInputLimit,      // the unexecuted input of all connections is too large, and it has the most
  kRequestDeadline,    // it did not send the rest of a request in time
  kLingered,           // it did not read its last replies in time
  kGaveWay,            // its first request was incomplete, and another needed its place
  kNotConfirmed,       // etcd has not confirmed for some seconds that this node leads
  kLeaderIsElsewhere,  // this node answered it only while no node led
  kServerStops,
};

std::string_view NameOf(CloseReason reason);

// The limit because of which a new connection was refused, or an idle HTTP connection was closed
// in favour of a new one.
struct Refusal {
  bool is_by_address = false;  // the limit per address is reached; otherwise the limit for all
  bool is_http = false;        // the limit is that of HTTP connections
  bool is_sentinel = false;    // the limit is that of the Sentinel port
  std::size_t connections_max = 0;
};

// The error that a refused RESP client receives, without a line break.
std::string TextOf(const Refusal& refusal);

// Implemented by the server's log, and by tests. Loop-confined; must not block.
class NetEvents {
 public:
  virtual void LogOpened(const command::ClientProfile& client) = 0;
  virtual void LogClosed(const command::ClientProfile& client, CloseReason reason,
                         engine::TimeMs now) = 0;
  virtual void LogRefused(std::string_view peer, const Refusal& refusal, engine::TimeMs now) = 0;
  // Accepting a connection failed, so accepting pauses briefly; `error` is an errno.
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
