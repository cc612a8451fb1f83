// The events of a lock, each reported at the moment when it happens.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "server/engine/api/attachment.h"
#include "server/engine/api/effects.h"
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

// The notices that are published on the channel of a LOCK with NOTIFY.
//
// Reports either how a waiting request ended, or that a hold was ended by something other than its
// owner. The views are valid only during the call.
struct Notice {
  std::string_view channel;
  ResolutionKind outcome = ResolutionKind::kGranted;  // meaningless if `loss` is set
  std::optional<EventKind> loss = {};                 // how the hold ended
  KeyName key = {};                                   // for an outcome of MLOCK, its first key
  std::span<const std::string_view> keys = {};        // for an outcome of MLOCK, all its keys
  std::uint64_t key_hash = 0;
  std::string_view owner = {};
  std::string_view by = {};  // kReplaced: the owner that took the place
  Token token = 0;           // for a grant or the loss of a hold
  DurationMs waited_ms = 0;  // for an outcome
  DurationMs held_ms = 0;    // for a loss
};

// The engine calls the sink as things happen, in the middle of its own work, so the sink must not
// call the engine. A grant is unconfirmed until the message with its token has been delivered; if
// it is not delivered, the grant is undone by UndoGrant.
class NoticeSink {
 public:
  virtual void Take(const Notice& notice) = 0;

 protected:
  ~NoticeSink() = default;
};

// Passes the engine's events on to several listeners.
//
// The listeners receive each event in the order in which they were added. They must outlive the fan
// or be removed from it, and none may be added or removed while an event is being delivered.
class EventFan final : public EventSink {
 public:
  void Add(EventSink& sink) {
    assert(std::find(sinks_.begin(), sinks_.end(), &sink) == sinks_.end());
    sinks_.push_back(&sink);
  }
  void Remove(EventSink& sink) { std::erase(sinks_, &sink); }
  // The sink to give to the engine: null if there is no listener, the listener itself if there is
  // only one, else this.
  EventSink* entrance() {
    if (sinks_.empty()) return nullptr;
    return sinks_.size() == 1 ? sinks_.front() : this;
  }

  void Take(const Event& event) override {
    for (EventSink* sink : sinks_) sink->Take(event);
  }

 private:
  std::vector<EventSink*> sinks_;
};

}  // namespace fairlock::engine
