// A connection as the lock engine sees it.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cassert>
#include <cstdint>

#include "server/engine/api/client_identity.h"

namespace fairlock::engine {

class Attachment;

// Links what waits on behalf of one connection to that connection.
using AttachmentHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct AttachmentTag>,
                                     boost::intrusive::link_mode<boost::intrusive::safe_link>>;

enum class PendingKind : std::uint8_t { kClaim, kMultiLock, kWatcher };

// What hangs on a connection: a place (of an MLOCK its multi_lock) or a watcher whose request
// waits, or a hold bound to it.
class Pending : public AttachmentHook {
 public:
  explicit Pending(PendingKind kind) : pending_kind(kind) {}

  Attachment* attachment = nullptr;  // null: on none
  const PendingKind pending_kind;
};

// The opaque tag to which the engine addresses replies; owned by the connection, embedded in it.
//
// A connection that closes must be detached (LockEngine::Detach) before it is destroyed.
// Loop-confined.
class Attachment {
 public:
  explicit Attachment(ClientRef client_ref = kUnknownClient) : client(client_ref) {}
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  ~Attachment() { assert(pending.empty() && sessions.empty()); }

  using List = boost::intrusive::list<Pending, boost::intrusive::base_hook<AttachmentHook>,
                                      boost::intrusive::constant_time_size<false>>;

  ClientRef client;  // who it is, in the engine's table of clients
  List pending;      // to be answered
  List sessions;     // holds that end when the connection closes
};

}  // namespace fairlock::engine
