// The steps of which the rules of locking are made: holds, places in line, and what time does to
// them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "server/engine/attachment.h"
#include "server/engine/client_table.h"
#include "server/engine/effects.h"
#include "server/engine/engine_options.h"
#include "server/engine/event.h"
#include "server/engine/inspection.h"
#include "server/engine/label_table.h"
#include "server/engine/limit_overrides.h"
#include "server/engine/lock_table.h"
#include "server/engine/recent_keys.h"
#include "server/engine/requests.h"
#include "server/engine/timer_wheel.h"

namespace fairlock::engine {

// The state of the lock engine, and what changes it without a request: time and lost connections.
//
// Invariants (CheckInvariants):
//  1. On no key are there more rooms taken than the LIMIT of any of them, or else all are SHARED;
//     so long as no override of LIMIT was ever set.
//  2. The first place that is neither passed over nor has a room reserved could not be granted, if
//     its line was looked at since the last change of overrides.
//  3. An owner has on one key one hold or one place, never both.
//  4. Tokens of the holds of a key rise in the order of their grants and are at most the newest
//  token.
//  5. Places of a line stand in the order of their numbers; `standing` are those not passed over.
//  6. Every hold with an end and every place and watcher with a time limit is in the timer wheel.
//  7. A lock in the table has a hold, a place, a watcher or a room that cools.
//  8. The counts agree with what is there.
//  9. `lines_` has the locks with a line; those not looked at since the last change of overrides
//     stand first.
//
// Loop-confined.
class LockCore {
 public:
  LockCore(const LockCore&) = delete;
  LockCore& operator=(const LockCore&) = delete;

  // The token of a grant did not reach its owner: its connection closed before the reply was handed
  // over whole. The place returns as if its connection had closed, or the lock is passed on. False:
  // the hold is gone, or was renewed meanwhile, and nothing changes. `key_hash` and `token` are
  // those of the LockResult or Resolution.
  bool UndoGrant(std::uint64_t key_hash, Token token, TimeMs now, Effects& effects);

  // The connection closed: its places outlive it by KEEP or for the grace, its sessions end or have
  // their grace, its watchers go. Grants not delivered are to be undone before.
  void Detach(Attachment& attachment, TimeMs now, Effects& effects);
  // Whatever waits for the attachment ends as at its time-out, unless its turn had come.
  void EndWaits(Attachment& attachment, TimeMs now, Effects& effects);

  // Ends what is over at `now`: what ends in an earlier tick. At most about `steps_max` timers;
  // true: more is due, call again.
  bool Advance(TimeMs now, std::size_t steps_max, Effects& effects);
  // When Advance is to be called next, kNever if nothing runs. May be early, never late.
  TimeMs NextDeadline() const;

  // Overrides of LIMIT, in place of an earlier one of the same pattern; also to bring back one from
  // before. The lines are looked at again by Advance, or when a request names their key. False:
  // there are too many.
  [[nodiscard]] bool SetLimit(LimitOverride row, TimeMs now);
  // True: there was one.
  bool DropLimit(std::uint8_t db, std::string_view pattern, TimeMs now);
  // Those in force.
  const LimitOverrides& Limits(TimeMs now);

  const EngineCounts& counts() const { return counts_; }

  void set_default_lease_ms(DurationMs lease_ms) { options_.default_lease_ms = lease_ms; }
  void set_keep_ms_max(DurationMs keep_ms_max) { options_.keep_ms_max = keep_ms_max; }
  void set_reconnect_grace_ms(DurationMs grace_ms) { options_.reconnect_grace_ms = grace_ms; }
  void set_limit_overrides_max(std::size_t count) { options_.limit_overrides_max = count; }
  std::uint64_t CountLocks(std::uint8_t db) const { return locks_by_db_[db]; }
  const EngineOptions& options() const { return options_; }
  ClientTable& clients() { return clients_; }
  const LabelTable& labels() const { return labels_; }
  // Told from now on; null: nobody is.
  void set_event_sink(EventSink* sink) { sink_ = sink; }

  // Hints for requests that follow soon: Prefetch brings the key's place in the tables into the
  // cache and returns the key's hash, with which PrefetchLock, a moment later, brings the lock
  // itself.
  std::uint64_t Prefetch(const KeyName& key) const {
    const std::uint64_t hash = table_.HashOf(key);
    table_.PrefetchBucket(hash);
    recent_.Prefetch(hash);
    return hash;
  }
  void PrefetchLock(std::uint64_t key_hash) const { table_.PrefetchLock(key_hash); }

  // Asserts the invariants above. O(everything).
  void CheckInvariants() const;

 protected:
  explicit LockCore(const EngineOptions& options);
  ~LockCore();

  enum class HoldEnd : std::uint8_t {
    kReleased,
    kExpired,
    kDisconnected,  // its session's connection closed
    kBroken,
    kTransferred,
    kUndone  // its token never reached the owner
  };

  // By HoldEnd.
  static constexpr std::array<EventKind, 6> kEventOfEnd = {
      EventKind::kReleased, EventKind::kExpired,     EventKind::kDisconnected,
      EventKind::kBroken,   EventKind::kTransferred, EventKind::kUndone};

  // Holds (lock_core_hold.cc).
  Token NextToken();
  Hold* FindHold(LockEntry& lock, std::string_view owner, std::optional<Token> token) const;
  static const Hold* FindToken(const LockEntry& lock, Token token);
  void StartHold(Hold& hold, TimeMs lease_end, TimeMs now);
  // With SESSION the hold is bound to `to`, if given.
  void AddHold(Claim& claim, Attachment* to, TimeMs now);
  void EndHold(std::uint64_t hash, LockEntry& lock, Hold& hold, HoldEnd end, TimeMs now);
  void Note(HoldEnd end, RecentKey& recent);
  static TimeMs LeaseEndOf(const Hold& hold);
  void SetLeaseEnd(LockDetail& detail, Claim& hold, TimeMs end);
  void Bind(Claim& hold, Attachment& to);
  void Unbind(Claim& hold);
  void Cool(const Claim& claim, HoldEnd end, TimeMs now);
  void EndCooling(CoolingRoom& room);
  DurationMs LeaseOf(const LockRequest& request) const;
  Claim& CreateClaim(LockEntry& lock, const LockRequest& request, ClientRef client);
  void ApplyOptions(Claim& claim, const LockRequest& request, ClientRef client);
  void SetClient(Hold& hold, ClientRef client);
  void DestroyClaim(Claim& claim);
  Claim& MovePlainHoldToClaim(LockEntry& lock);
  // Frees what the lock no longer needs; true: the lock itself.
  bool Discard(std::uint64_t hash, LockEntry& lock);
  void AfterDetach(LockEntry& lock, TimeMs now, Effects& effects);

  // Places (lock_core_line.cc).
  bool HasRoom(const LockEntry& lock, const Mode& mode) const;
  bool IsAnyoneAhead(const LockEntry& lock, std::uint64_t number) const;
  DenialReason ReasonFor(const LockEntry& lock, const Mode& mode) const;
  void JoinLine(Claim& place, const LockRequest& request, Attachment& from, TimeMs now);
  void AwaitOrKeep(Claim& place, const LockRequest& request, Attachment& from, TimeMs now);
  void Keep(Claim& place, TimeMs now);
  void PassOver(Claim& place, TimeMs now);
  void StandInLine(Claim& place);
  void Reserve(Claim& place);
  void Unreserve(Claim& place);
  void LinkLine(LockDetail& detail);  // a place is about to join
  void LeaveLine(Claim& place);
  void LoseRequest(Claim& place, TimeMs now);
  void GrantPlace(Claim& place, Attachment* to, TimeMs now);
  void ReturnToLine(Claim& hold, TimeMs now);
  void Answer(Pending& pending, const Resolution& resolution, Effects& effects);
  // What follows from any change to holds or line; the lock stays.
  void Serve(LockEntry& lock, TimeMs now, Effects& effects);
  void ServeLine(LockEntry& lock, TimeMs now, Effects& effects);
  void ServeWatchers(LockEntry& lock, Effects& effects);
  void DestroyWatcher(Watcher& watcher);

  // Overrides of LIMIT (lock_core_limits.cc).
  void EndOverrides(TimeMs now) {
    if (overrides_.next_end() < now) DropEndedOverrides(now);
  }
  void DropEndedOverrides(TimeMs now);
  void NoteLimitChange();
  std::optional<std::uint32_t> LimitOf(const KeyName& key) const {
    return overrides_.empty() ? std::nullopt : overrides_.Find(key);
  }
  bool IsDrained(const KeyName& key) const {
    return !overrides_.empty() && overrides_.Find(key) == 0U;
  }
  bool HasRoomUnderOverrides(const LockEntry& lock, const Mode& mode) const;
  bool HasRoomIn(const Rooms& rooms, const LockEntry& lock, const Mode& mode) const;
  bool IsSeen(const LockDetail& detail) const { return detail.seen_changes == limit_changes_; }
  bool IsAnyLineUnseen() const {
    return limit_changes_ != 0 && !lines_.empty() && !IsSeen(lines_.front());
  }
  void LookAgain(LockEntry& lock, TimeMs now, Effects& effects);
  // True: there are more.
  bool LookAtLines(TimeMs now, std::size_t lines_max, Effects& effects);

  // Time (lock_core_time.cc).
  void ScheduleMember(LockDetail& detail, TimerNode& node, TimeMs deadline, TimerClass timer_class);
  // The lock of that name with all that is overdue on it done; null if there is none.
  LockEntry* FindSettled(std::uint64_t hash, const KeyName& key, TimeMs now, Effects& effects);
  LockEntry* Settle(std::uint64_t hash, LockEntry& lock, TimeMs now, Effects& effects);
  // A time of n ms began anywhere within its first tick, which was rounded down: it is over for
  // certain only when the tick in which it ends is.
  static TimeMs LastTickBefore(TimeMs now) { return now - 1; }
  void CollectDue(LockEntry& lock, TimeMs last_tick);
  void EndDue(TimerNode& node, TimeMs now, Effects& effects);
  void EndDuePlace(Claim& place, TimeMs now, Effects& effects);
  static LockEntry& LockOf(TimerNode& node);
  static std::uint64_t OrderOf(const TimerNode& node);

  // Events (lock_core_events.cc).
  void Tell(EventKind kind, std::uint64_t hash, const LockEntry& lock, const Hold& hold,
            TimeMs now) {
    if (sink_ != nullptr) TellSink(kind, hash, lock, hold, now);
  }
  void TellSink(EventKind kind, std::uint64_t hash, const LockEntry& lock, const Hold& hold,
                TimeMs now);
  void TellOfClaim(const Claim& claim);
  void TellWithOther(EventKind kind, std::uint64_t hash, const Claim& claim, std::string_view other,
                     TimeMs now);
  LockResult Deny(std::uint64_t hash, const LockEntry& lock, const LockRequest& request,
                  ClientRef client, DenialReason reason, TimeMs now);
  void TellQueued(const Claim& place, DenialReason reason, TimeMs now);
  enum class Cause : std::uint8_t { kRequest, kTime };
  void TellIfVacated(const LockEntry& lock, Cause cause, TimeMs now);
  static EventKind EventOf(HoldEnd end) { return kEventOfEnd[static_cast<std::size_t>(end)]; }

  // Checking (lock_core_check.cc).
  std::size_t CheckLock(const LockEntry& lock, EngineCounts& found) const;
  void CheckHolds(const LockEntry& lock) const;
  void CheckPlaces(const LockEntry& lock) const;

  EngineOptions options_;
  LockTable table_;
  TimerWheel wheel_;
  RecentKeys recent_;
  LabelTable labels_;
  ClientTable clients_;
  EngineCounts counts_;
  std::array<std::uint64_t, kDatabases> locks_by_db_{};
  Token next_token_;
  std::uint64_t next_arrival_ = 1;
  LimitOverrides overrides_;
  std::uint64_t limit_changes_ = 0;
  LineList lines_;

 private:
  void DropMembers(LockDetail& detail);

  EventSink* sink_ = nullptr;
  Event told_;                   // scratch of TellSink
  std::vector<TimerNode*> due_;  // scratch of CollectDue
};

}  // namespace fairlock::engine
