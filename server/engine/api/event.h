// What happened to a lock, told at the moment at which it happens.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/engine/api/client_identity.h"
#include "server/engine/api/types.h"

namespace fairlock::engine {

enum class EventKind : std::uint8_t {
  kGranted,       // a new hold; `waited_ms` if it had a place before
  kReacquired,    // the owner asked again for what it holds
  kDenied,        // for `reason`; `other` is the oldest holder then, if any
  kQueued,        // a new place in the queue, for `reason`; `other` as for kDenied
  kReleased,      // by its owner
  kExpired,       // its lease ended
  kDisconnected,  // its session's connection closed, without grace
  kRenewed,       // by RENEW
  kBroken,        // by force
  kTransferred,   // from the owner `other`, under the new `token`
  kUndone,        // the token never reached the owner
  kCancelled,     // a place: CANCEL, UNLOCK or BREAK ended it
  kReplaced,      // a place: the request of `other`, with REPLACE, took the end of the queue
  kTimedOut,      // a place: its WAIT is over, and it does not stay by KEEP
  kLapsed,        // a place without request: its KEEP, or the time to come back, is over
  kVacated,       // the reservation, cooldown or next MLOCK that kept the key has ended
  kRefused        // a command that may not end or change the hold of `other` left it as it is
};

// All views are valid for the call only.
struct Event {
  EventKind kind = EventKind::kGranted;
  DenialReason reason = DenialReason::kNone;
  bool has_waited = false;            // kGranted: it had a place before
  ClientRef client = kUnknownClient;  // through which the hold or place was asked for
  KeyName key = {};
  std::uint64_t key_hash = 0;
  std::string_view owner = {};  // empty for kVacated, and for kRefused if nobody is named
  std::string_view other = {};
  std::string_view label = {};
  Token token = 0;
  Token other_token = 0;  // kDenied, kQueued, kRefused: of the hold of `other`
  TimeMs at = 0;
  DurationMs waited_ms = 0;  // of a grant or a place
  DurationMs held_ms = 0;    // of an end
  bool is_by_time = false;   // kVacated: time ended it, not a request
};

// Told by the engine in the order in which things happen, in the middle of its work: must not call
// the engine.
class EventSink {
 public:
  virtual void Take(const Event& event) = 0;

 protected:
  ~EventSink() = default;
};

}  // namespace fairlock::engine
