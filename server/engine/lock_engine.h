// The rules of locking: who holds which lock, who waits for it, and what follows from each request
// and from time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "server/engine/attachment.h"
#include "server/engine/client_table.h"
#include "server/engine/effects.h"
#include "server/engine/inspection.h"
#include "server/engine/label_table.h"
#include "server/engine/lock_table.h"
#include "server/engine/recent_keys.h"
#include "server/engine/requests.h"
#include "server/engine/timer_wheel.h"

namespace fairlock::engine {

struct EngineOptions {
  DurationMs default_lease_ms = 30'000;
  DurationMs reconnect_grace_ms = 2'000;  // how long a place without KEEP outlives its connection
  DurationMs keep_ms_max = 60'000;        // the longest KEEP, checked by who reads the request
  Token first_token = 1;                  // the first grant gets this one
  std::uint64_t hash_seed = 0;  // secret of the process, so that nobody can choose colliding keys
  std::uint64_t locks_max = ~0ULL;
  std::uint64_t places_max = ~0ULL;
};

// Commands in, effects out; no I/O, no clock, no threads, no randomness.
//
// Every call takes `now`, which must not go back. Times that have come are in the past for the
// caller: a command first settles the key it names, whether or not Advance has reached it yet. A
// waiting request is answered later by a Resolution that names its Attachment.
//
// Invariants (CheckInvariants):
//  1. On no key are there more rooms taken than the LIMIT of any of them, or else all are SHARED.
//  2. The first place that is neither passed over nor has a room reserved could not be granted.
//  3. An owner has on one key one hold or one place, never both.
//  4. Tokens of the holds of a key rise in the order of their grants and are at most the newest
//  token.
//  5. Places of a line stand in the order of their numbers; `standing` are those not passed over.
//  6. Every hold with an end and every place and watcher with a time limit is in the timer wheel.
//  7. A lock in the table has a hold, a place, a watcher or a room that cools.
//  8. The counts agree with what is there.
//
// Loop-confined. Lock, Unlock, Renew, Cancel, Transfer and each grant are O(1); see QUEUE and LOCKS
// for theirs.
class LockEngine {
 public:
  explicit LockEngine(const EngineOptions& options);
  LockEngine(const LockEngine&) = delete;
  LockEngine& operator=(const LockEngine&) = delete;
  ~LockEngine();

  // A request that must wait is linked to `from` and answered later; kQueued says so.
  LockResult Lock(const LockRequest& request, Attachment& from, TimeMs now, Effects& effects);
  // True: it held and is released. Without token the owner's place goes too.
  bool Unlock(const UnlockRequest& request, TimeMs now, Effects& effects);
  // True: the lease now ends that long from now.
  bool Renew(const RenewRequest& request, TimeMs now, Effects& effects);
  WaitStatus Wait(const WaitRequest& request, Attachment& from, TimeMs now, Effects& effects);
  bool Check(const KeyName& key, Token token, TimeMs now, Effects& effects);
  // True: the owner had a place, and left the line.
  bool Cancel(const KeyName& key, std::string_view owner, TimeMs now, Effects& effects);
  TransferResult Transfer(const TransferRequest& request, TimeMs now, Effects& effects);
  // Ends the holds of `owner`, or all without one; returns how many.
  std::uint64_t Break(const KeyName& key, std::optional<std::string_view> owner, TimeMs now,
                      Effects& effects);

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

  // Looking. Each first settles the key, so it may have effects.
  std::uint64_t CountHolders(const KeyName& key, TimeMs now, Effects& effects);
  bool IsHeldBy(const KeyName& key, std::string_view owner, TimeMs now, Effects& effects);
  // 0 holds, n place in line (exact to 1,000, beyond that an upper bound), none neither.
  std::optional<std::uint64_t> Position(const KeyName& key, std::string_view owner, TimeMs now,
                                        Effects& effects);
  LockInfo Inspect(const KeyName& key, std::size_t holders_max, TimeMs now, Effects& effects);
  Explanation Explain(const KeyName& key, std::string_view owner, TimeMs now, Effects& effects);
  // Places `start` .. `start + count - 1`, counted from 0. O(start + count).
  std::vector<PlaceInfo> Queue(const KeyName& key, std::uint64_t start, std::uint64_t count,
                               TimeMs now, Effects& effects);
  // Visits about `count` locks from `cursor` on (0 begins); returns the next cursor, 0 at the end.
  // A lock that is there from begin to end is visited at least once, whatever else comes and goes.
  // Does not settle.
  std::uint64_t Scan(std::uint64_t cursor, std::size_t count, TimeMs now,
                     const std::function<void(const LockSummary&)>& visit) const;
  std::uint64_t CountLocks(std::uint8_t db) const { return locks_by_db_[db]; }
  const EngineCounts& counts() const { return counts_; }

  void set_default_lease_ms(DurationMs lease_ms) { options_.default_lease_ms = lease_ms; }
  void set_keep_ms_max(DurationMs keep_ms_max) { options_.keep_ms_max = keep_ms_max; }
  void set_reconnect_grace_ms(DurationMs grace_ms) { options_.reconnect_grace_ms = grace_ms; }
  const EngineOptions& options() const { return options_; }
  ClientTable& clients() { return clients_; }

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

 private:
  enum class HoldEnd : std::uint8_t {
    kReleased,
    kExpired,
    kDisconnected,  // its session's connection closed
    kBroken,
    kTransferred,
    kUndone  // its token never reached the owner
  };

  // Requests (lock_engine.cc).
  LockResult GrantNewLock(std::uint64_t hash, const LockRequest& request, Attachment& from,
                          TimeMs now);
  LockResult GrantAtOnce(std::uint64_t hash, LockEntry& lock, const LockRequest& request,
                         Attachment& from, TimeMs now);
  LockResult Reacquire(LockEntry& lock, Hold& held, const LockRequest& request, Attachment& from,
                       TimeMs now);
  void ProlongByRepeat(LockEntry& lock, Hold& hold, const LockRequest& request, Attachment& from,
                       TimeMs now);
  LockResult RepeatWaiting(std::uint64_t hash, Claim& place, const LockRequest& request,
                           Attachment& from, TimeMs now, Effects& effects);
  LockResult AskAnew(std::uint64_t hash, LockEntry& lock, const LockRequest& request,
                     Attachment& from, TimeMs now, Effects& effects);
  bool MayPass(const LockEntry& lock, const Mode& mode) const;
  void ReplaceNewest(LockEntry& lock, std::string_view by, TimeMs now, Effects& effects);
  LockResult Deny(std::uint64_t hash, DenialReason reason);
  DurationMs LeaseOf(const LockRequest& request) const;
  void InheritOptions(Claim& heir, Claim& old);
  void EndReservationsAndCooling(LockEntry& lock);
  void DropMembers(LockDetail& detail);

  // Holds (lock_engine_hold.cc).
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
  Claim& CreateClaim(LockEntry& lock, const LockRequest& request, ClientRef client);
  void ApplyOptions(Claim& claim, const LockRequest& request, ClientRef client);
  void SetClient(Hold& hold, ClientRef client);
  void DestroyClaim(Claim& claim);
  Claim& MovePlainHoldToClaim(LockEntry& lock);
  // Frees what the lock no longer needs; true: the lock itself.
  bool Discard(std::uint64_t hash, LockEntry& lock);
  void AfterDetach(LockEntry& lock, TimeMs now, Effects& effects);

  // Places (lock_engine_line.cc).
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

  // Time (lock_engine_time.cc).
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

  // Looking (lock_engine_inspect.cc) and checking (lock_engine_check.cc).
  template <typename Visit>
  static void VisitHolds(const LockEntry& lock, Visit&& visit);
  HolderInfo Describe(const Hold& hold, TimeMs now) const;
  PlaceInfo Describe(const Claim& place, std::uint64_t position, TimeMs now) const;
  std::vector<HolderInfo> DescribeHolders(const LockEntry& lock, std::size_t holders_max,
                                          TimeMs now) const;
  static void DescribeRooms(const LockDetail& detail, LockInfo& info, TimeMs now);
  std::uint64_t PositionOf(const Claim& place) const;
  LockSummary Summarize(const LockEntry& lock, TimeMs now) const;
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
  std::vector<TimerNode*> due_;  // scratch of CollectDue
};

}  // namespace fairlock::engine
