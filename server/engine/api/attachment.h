// A connection as the lock engine sees it.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cassert>
#include <cstdint>
#include <string>

namespace fairlock::engine {

// A small reference into the table of clients; fits 20 bits. Zero means an unknown client.
using ClientRef = std::uint32_t;
inline constexpr ClientRef kUnknownClient = 0;
inline constexpr ClientRef kClientRefMax = (1U << 20) - 1;

// The client through which a hold or place was requested.
struct ClientIdentity {
  std::string address;
  std::string name;
  std::string user;
  bool is_connected = false;
};

class Attachment;

// Links whatever waits on behalf of a connection to that connection.
using AttachmentHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct AttachmentTag>,
                                     boost::intrusive::link_mode<boost::intrusive::safe_link>>;

enum class PendingKind : std::uint8_t { kClaim, kMultiLock, kWatcher };

// Something attached to a connection: a place (for an MLOCK, its multi-lock) or a watcher whose
// request is waiting, or a hold that is bound to the connection.
class Pending : public AttachmentHook {
 public:
  explicit Pending(PendingKind kind) : pending_kind(kind) {}

  Attachment* attachment = nullptr;  // null: not attached
  const PendingKind pending_kind;
};

// The opaque tag to which the engine addresses replies. Each connection has one as a member.
//
// A connection that closes must be detached (Sessions::Detach) before it is destroyed.
class Attachment {
 public:
  explicit Attachment(ClientRef client_ref = kUnknownClient) : client(client_ref) {}
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  ~Attachment() { assert(pending.empty() && sessions.empty()); }

  using List = boost::intrusive::list<Pending, boost::intrusive::base_hook<AttachmentHook>,
                                      boost::intrusive::constant_time_size<false>>;

  ClientRef client;  // its entry in the engine's table of clients
  List pending;      // to be answered
  List sessions;     // holds that end when the connection closes
};

}  // namespace fairlock::engine
