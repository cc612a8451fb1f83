// Events: everything that happens to a lock is emitted as an event, in order, at the moment it
// happens. Owners that use NOTIFY also get a notice of how their request ended, and of the loss of
// a hold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/engine/api/effects.h"
#include "server/engine/api/event.h"
#include "server/engine/api/requests.h"
#include "server/engine/rules/rule.h"
#include "server/engine/state/lock_entry.h"
#include "server/engine/state/multi_lock.h"

namespace fairlock::engine {

// How a hold ends.
enum class HoldEnd : std::uint8_t {
  kReleased,
  kExpired,
  kDisconnected,  // the connection of its session closed
  kBroken,
  kTransferred,
  kUndone  // its token never reached the owner
};

inline EventKind EventOf(HoldEnd end) {
  constexpr std::array<EventKind, 6> kEvents = {EventKind::kReleased,     EventKind::kExpired,
                                                EventKind::kDisconnected, EventKind::kBroken,
                                                EventKind::kTransferred,  EventKind::kUndone};
  return kEvents[static_cast<std::size_t>(end)];
}

class Events : Rule {
 public:
  using Rule::Rule;

  // The sink of all events; null: events are dropped.
  void set_event_sink(EventSink* sink) { sink_ = sink; }
  // The sink for the notices of NOTIFY; null: they are dropped.
  void set_notice_sink(NoticeSink* sink) { notice_sink_ = sink; }
  void Emit(EventKind kind, std::uint64_t hash, const LockEntry& lock, const Hold& hold,
            TimeMs now) {
    if (sink_ != nullptr) EmitToSink(kind, hash, lock, hold, now);
  }
  void EmitWithOther(EventKind kind, std::uint64_t hash, const Claim& claim, std::string_view other,
                     TimeMs now);
  // Emits one event for each key of the place.
  // `token_before` is that of the hold before it was transferred; 0: it was not.
  void EmitLeaving(std::uint64_t hash, const LockEntry& lock, const Hold& hold, TimeMs end,
                   Token token_before, TimeMs now);
  void EmitPlace(EventKind kind, Claim& place, TimeMs now, std::string_view other = {});
  void EmitQueued(Claim& place, DenialReason reason, TimeMs now);
  // Does nothing if the key still exists for the Redis commands.
  void EmitVacated(const LockEntry& lock, Cause cause, TimeMs now);
  // `owner` is the owner that would have got the lock; empty: the command names no owner.
  void EmitRefused(std::uint64_t hash, const LockEntry& lock, std::string_view owner,
                   ClientRef client, TimeMs now);
  LockResult Deny(std::uint64_t hash, const LockEntry& lock, const LockRequest& request,
                  ClientRef client, DenialReason reason, TimeMs now);
  // Send a notice on the channel of NOTIFY. REQUIRES: the claim has one.
  void SendOutcome(const Claim& place, const Resolution& resolution, TimeMs now);
  void SendLoss(const Claim& hold, HoldEnd end, TimeMs now);

 private:
  void EmitToSink(EventKind kind, std::uint64_t hash, const LockEntry& lock, const Hold& hold,
                  TimeMs now);
  void EmitClaim(const Claim& claim);

  EventSink* sink_ = nullptr;
  NoticeSink* notice_sink_ = nullptr;
  Event told_;  // reused by each call of EmitToSink
};

// Answers: a request that waits gets exactly one answer, on its connection or, with NOTIFY, as a
// notice on its channel.
class Answers : Rule {
 public:
  using Rule::Rule;

  void Answer(Pending& pending, const Resolution& resolution, Effects& effects);
  // Answers on the channel of the place, if it has one. Also for a place that has just become a
  // hold.
  void AnswerPlace(Claim& place, const Resolution& resolution, Step step);
};

}  // namespace fairlock::engine
