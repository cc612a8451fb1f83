// The steps of which the rules of locking are made: places in line, and what time and lost
// connections do to them and to holds.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/effects.h"
#include "server/engine/limit_overrides.h"
#include "server/engine/lock_holds.h"
#include "server/engine/waiting_requests.h"

namespace fairlock::engine {

// What changes the state of the lock engine without a request.
//
// Invariants (CheckInvariants):
//  1. On no key are there more rooms taken than the LIMIT of any of them, or else all are SHARED;
//     so long as no override of LIMIT was ever set.
//  2. The first place that is neither passed over nor has a room reserved could not be granted, of
//     an MLOCK on one of its keys, if its line was looked at since the last change of overrides;
//     while no step is on.
//  3. An owner has on one key one hold or one place, never both.
//  4. Tokens of the holds of a key rise in the order of their grants and are at most the newest
//     token.
//  5. Places of a line stand in the order of their numbers; `standing` are those not passed over.
//  6. Every hold with an end and every place and watcher with a time limit is in the timer wheel.
//  7. A lock in the table has a hold, a place, a watcher or a room that cools.
//  8. The counts agree with what is there.
//  9. `lines_` has the locks with a line; those not looked at since the last change of overrides
//     stand first.
// 10. The claims of a group are all its places, one on each key, with one arrival, in one state,
//     all with a room reserved or none; or holds with its token, which no other has.
// 11. `waiting_` has, of each place whose request waits, the claim that stands for it, and no
// other.
// 12. A place with NOTIFY waits on its channel while that is open, and else stands among its absent
// ones.
//
// Loop-confined.
class LockCore : public LockHolds {
 public:
  // The token of a grant did not reach its owner: its connection closed before the reply was handed
  // over whole. The place returns as if its connection had closed, or the lock is passed on; of an
  // MLOCK all holds end, and the place returns if none had ended before. False: the hold is gone,
  // or was renewed meanwhile, and nothing changes. `key_hash` and `token` are those of the
  // LockResult or Resolution.
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
  // Until then nobody new is let in, as if all keys were drained.
  void DelayGrantsUntil(TimeMs end) {
    overrides_.DrainAllUntil(end);
    NoteLimitChange();
  }

  // Until EndStep what is asked is one step: lines and watchers are looked at in its end, from the
  // state that it leaves, who waits longest first. Inside WAIT counts as absent, and time stands
  // still: what was overdue at the begin was before the step, also on a key that is named later.
  void BeginStep(TimeMs now);
  void EndStep(TimeMs now, Effects& effects);
  bool is_in_step() const { return is_in_step_; }

  // Asserts the invariants above. O(everything).
  void CheckInvariants() const;

 protected:
  explicit LockCore(const EngineOptions& options)
      : LockHolds(options), waiting_(options.hash_seed) {}
  ~LockCore();

  // Places (lock_core_line.cc). A place of an MLOCK is named by any of its claims, and stands in
  // all its lines. What is done to it leaves the lines other than that claim's to the next Serve.
  bool HasRoom(const LockEntry& lock, const Mode& mode) const;
  bool IsAnyoneAhead(const LockEntry& lock, std::uint64_t number) const;
  // The first of its claims that is not at the head of its line, or has no room; null: its turn has
  // come.
  Claim* FindBlocked(Claim& place, const Mode& mode) const;
  DenialReason ReasonFor(const LockEntry& lock, const Mode& mode) const;
  void JoinLine(Claim& place, const LockRequest& request, Attachment& from, TimeMs now);
  void EnterLine(Claim& place, TimeMs now);
  // A value that was denied: it is passed over until it asks once more, within its KEEP.
  void Mark(Claim& place, TimeMs now);
  void NotePlace(Claim& place);  // it is new, or has other options
  DurationMs WaitOf(const LockRequest& request) const {
    if (is_in_step_) return 0;
    return request.notify && request.wait_ms == 0 ? kForever : request.wait_ms;
  }
  void AwaitOrKeep(Claim& place, const LockRequest& request, Attachment& from, TimeMs now);
  TimeMs WaitEndOf(const LockRequest& request, TimeMs now) const;
  // With NOTIFY: its grant may be undone, and it waits again.
  void NoteWait(Claim& place, const LockRequest& request, TimeMs now);
  // Its request waits on that connection or channel.
  void Await(Claim& place, Attachment& on, TimeMs end);
  void Keep(Claim& place, TimeMs now);
  void PassOver(Claim& place, TimeMs now);
  void ForgetWaiting(Claim& place);
  // Among the places of its channel, if it has one, that wait for a subscriber.
  static void StandAbsent(Claim& place);
  static void LeaveAbsent(Claim& place);
  void SchedulePlace(Claim& place, TimeMs deadline, TimerClass timer_class);
  void Reserve(Claim& place);
  void Unreserve(Claim& place);
  void GrantPlace(Claim& place, Attachment* to, TimeMs now);
  void LoseRequest(Claim& place, TimeMs now);
  // Its grant did not reach it; it stands in line again.
  void LoseDelivery(Claim& place, TimeMs now);
  // Leaves its lines and is gone.
  void RemovePlace(Claim& place, Cause cause);
  void NoteIfKeyEnds(const Claim& claim, Cause cause);
  void ReturnToLine(Claim& hold, TimeMs now);
  // Of one claim.
  void LinkLine(LockDetail& detail);  // a place is about to join
  void AppendLine(LockDetail& detail);
  void StandInLine(Claim& claim);
  void ReserveRoom(Claim& claim);
  void UnreserveRoom(Claim& claim);
  void GrantClaim(Claim& claim, Token token, Attachment* to, TimeMs now);
  void LeaveLine(Claim& claim);

  // What follows (lock_core_serve.cc).
  // True: it is left to the end of the step that is on.
  bool Defer(LockEntry& lock);
  void ServeDeferred(LockDetail& detail, TimeMs now, Effects& effects);
  // Lives until the next step begins.
  std::string_view OutlivingStep(std::string_view text);
  // Once it is served. REQUIRES: it has a detail.
  void TellIfVacated(LockEntry& lock, TimeMs now);
  void Answer(Pending& pending, const Resolution& resolution, Effects& effects);
  // By its channel, if it has one. Also of a place that has just become a hold.
  void AnswerPlace(Claim& place, const Resolution& resolution, TimeMs now, Effects& effects);
  void NoteLine(LockEntry& lock);
  void NoteOtherLines(const Claim& place);
  // What follows from any change to holds or line; the lock stays. Then, one after the other, what
  // follows in the lines that have been noted.
  void Serve(LockEntry& lock, TimeMs now, Effects& effects);
  void ServeNotedLines(const LockEntry& own, TimeMs now, Effects& effects);
  void ServeOrDefer(LockEntry& lock, TimeMs now, Effects& effects);
  void ServeLine(LockEntry& lock, TimeMs now, Effects& effects);
  void ServePlace(Claim& place, TimeMs now, Effects& effects);
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
    return limit_changes_ != 0 && !lines_.empty() && !IsSeen(*lines_.begin());
  }
  void LookAgain(LockEntry& lock, TimeMs now, Effects& effects);
  // True: there are more.
  bool LookAtLines(TimeMs now, std::size_t lines_max, Effects& effects);

  // Time (lock_core_time.cc).
  bool IsBehind(TimeMs now) const {
    return wheel_.is_behind(LastTickBefore(now)) || IsAnyLineUnseen();
  }
  // The lock of that name with all that is overdue on it done; null if there is none.
  LockEntry* FindSettled(std::uint64_t hash, const KeyName& key, TimeMs now, Effects& effects);
  LockEntry* Settle(std::uint64_t hash, LockEntry& lock, TimeMs now, Effects& effects);
  // Does what is overdue on any of them, in the order of their times. A place of an MLOCK that is
  // over brings the other keys of its MLOCK in: it may have been granted before. Until EndSettling
  // the locks stay, also if nothing is left of them; then they are to be discarded.
  void BeginSettling(LockSpan locks, TimeMs now, Effects& effects);
  void EndSettling(LockSpan locks);
  void AddToSettling(LockEntry& lock);
  // A time of n ms began anywhere within its first tick, which was rounded down: it is over for
  // certain only when the tick in which it ends is.
  static TimeMs LastTickBefore(TimeMs now) { return now - 1; }
  void CollectDue(LockEntry& lock, TimeMs last_tick);
  void EndDue(TimerNode& node, TimeMs now, Effects& effects);
  void EndDuePlace(Claim& place, TimeMs now, Effects& effects);

  // Connections (lock_core_connections.cc).
  static LockList LocksOf(Pending& pending);
  void Unlink(Attachment& attachment);
  void LoseSession(Claim& hold, TimeMs now);
  // After what was done to them: first comes what is overdue, so that nobody is granted who is
  // over.
  void SettleAndServe(LockSpan locks, TimeMs now, Effects& effects);
  static void AdoptRequest(Claim& claim, const Claim& first);
  bool UndoGroup(Group& group, TimeMs now, Effects& effects);

  // Checking (lock_core_check.cc).
  std::size_t CheckLock(const LockEntry& lock, EngineCounts& found) const;
  void CheckHolds(const LockEntry& lock) const;
  void CheckPlaces(const LockEntry& lock) const;
  std::size_t CheckGroups(const LockEntry& lock) const;
  void CheckGroup(const Group& group) const;

  std::uint64_t next_arrival_ = 1;
  WaitingRequests waiting_;
  LimitOverrides overrides_;
  std::uint64_t limit_changes_ = 0;
  LineSet lines_;
  std::uint64_t next_line_number_ = 1;

 private:
  void DropMembers(LockDetail& detail);

  std::vector<LockEntry*> noted_lines_;  // to be looked at by the next Serve
  StepList deferred_;                    // to be looked at in the end of the step
  std::deque<std::string> step_texts_;
  bool is_in_step_ = false;
  bool is_in_past_ = false;  // in a step: what was overdue at its begin is being done
  std::uint64_t limit_changes_before_step_ = 0;
  std::vector<LockEntry*> settling_;  // from BeginSettling to EndSettling: they stay
  std::vector<TimerNode*> due_;       // scratch of CollectDue
};

}  // namespace fairlock::engine
