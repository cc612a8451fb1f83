// The events of a lock, each reported at the moment when it happens.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/engine/api/client_identity.h"
#include "server/engine/api/types.h"

namespace fairlock::engine {

enum class EventKind : std::uint8_t {
  kGranted,       // a new hold; `waited_ms` is set if it had a place before
  kReacquired,    // the owner requested the lock again while holding it
  kDenied,        // for `reason`; `other` is the oldest holder at that moment, if any
  kQueued,        // a new place in the queue, for `reason`; `other` as for kDenied
  kReleased,      // by its owner
  kExpired,       // its lease ended
  kDisconnected,  // its session's connection closed, and it had no grace
  kRenewed,       // by RENEW
  kBroken,        // by force
  kTransferred,   // from the owner `other`, under the new `token`
  kUndone,        // the token never reached the owner
  kCancelled,     // a place: CANCEL, UNLOCK or BREAK ended it
  kReplaced,      // a place: the request of `other`, with REPLACE, took the end of the queue
  kTimedOut,      // a place: its WAIT is over, and no KEEP preserves it
  kLapsed,  // a place without a request: its KEEP, or the time its owner had to return, is over
  // The key existed only because of a reservation, a cooldown, or an MLOCK at the head of the
  // queue, which has now ended.
  kVacated,
  kRefused,  // a command tried to end or change the hold of `other`, but may not do so
  kLeaving   // BREAK with GRACE: the hold will end by force when `grace_ms` are over
};

// The views are valid only during the call.
struct Event {
  EventKind kind = EventKind::kGranted;
  DenialReason reason = DenialReason::kNone;
  bool has_waited = false;            // kGranted: the owner had a place before
  ClientRef client = kUnknownClient;  // through which the hold or place was requested
  KeyName key = {};
  std::uint64_t key_hash = 0;
  // Empty for kVacated, and for kRefused if the command named no owner.
  std::string_view owner = {};
  std::string_view other = {};
  std::string_view label = {};
  Token token = 0;
  // kDenied, kQueued, kRefused: the token of `other`'s hold. kLeaving: the token that the hold had
  // before it was transferred, if it has notice since then.
  Token other_token = 0;
  TimeMs at = 0;
  DurationMs waited_ms = 0;  // for a grant or a place
  DurationMs held_ms = 0;    // for the end of a hold
  DurationMs grace_ms = 0;   // kLeaving: how long the hold may still last
  bool is_by_time = false;   // kVacated: time ended it, not a request
};

// The engine calls the sink as events happen, in the middle of its own work, so the sink must not
// call the engine.
class EventSink {
 public:
  virtual void Take(const Event& event) = 0;

 protected:
  ~EventSink() = default;
};

}  // namespace fairlock::engine
