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
#include "server/engine/types.h"

namespace fairlock::engine {

struct EngineOptions {
  DurationMs default_lease_ms = 30'000;
  Token first_token = 1;        // the first grant gets this one
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
//  1. On no key are there more holds than the LIMIT of any of them.
//  2. No place that could be granted stands at the head of a line.
//  3. An owner has on one key one hold or one place, never both.
//  4. Tokens of the holds of a key rise in the order of their grants and are at most the newest
//  token.
//  5. Places of a line stand in the order of their numbers.
//  6. Every hold with an end and every place and watcher with a time limit is in the timer wheel.
//  7. A lock in the table has a hold, a place or a watcher.
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

  // The connection closed: its places leave their lines, its watchers go.
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
  enum class HoldEnd : std::uint8_t { kReleased, kExpired, kBroken, kTransferred };

  // Requests (lock_engine.cc).
  LockResult GrantNewLock(std::uint64_t hash, const LockRequest& request, Attachment& from,
                          TimeMs now);
  LockResult Reacquire(LockEntry& lock, Hold& hold, const LockRequest& request, Attachment& from,
                       TimeMs now);
  LockResult RepeatWaiting(Claim& place, const LockRequest& request, Attachment& from, TimeMs now,
                           Effects& effects);
  LockResult AskAnew(std::uint64_t hash, LockEntry& lock, const LockRequest& request,
                     Attachment& from, TimeMs now, Effects& effects);
  LockResult Deny(std::uint64_t hash, DenialReason reason);
  DurationMs LeaseOf(const LockRequest& request) const;
  Hold* FindHold(LockEntry& lock, std::string_view owner, std::optional<Token> token) const;

  // Holds and places (lock_engine_line.cc).
  Token NextToken();
  bool HasRoom(const LockEntry& lock, std::uint32_t limit) const;
  bool IsTurnOf(const LockEntry& lock, const Claim& place, std::uint32_t limit) const;
  DenialReason ReasonFor(const LockEntry& lock, std::uint32_t limit) const;
  void StartHold(Hold& hold, DurationMs lease_ms, TimeMs now);
  void EndHold(std::uint64_t hash, LockEntry& lock, Hold& hold, HoldEnd end, TimeMs now);
  Claim& CreateClaim(LockEntry& lock, const LockRequest& request, ClientRef client);
  void ApplyOptions(Claim& claim, const LockRequest& request, ClientRef client);
  void DestroyClaim(Claim& claim);
  void AddHold(Claim& claim, DurationMs lease_ms, TimeMs now);
  Claim& MovePlainHoldToClaim(LockEntry& lock);
  void JoinLine(Claim& place, const LockRequest& request, Attachment& from, TimeMs now);
  void Await(Claim& place, DurationMs wait_ms, Attachment& from, TimeMs now);
  void LeaveLine(Claim& place);
  void GrantPlace(Claim& place, TimeMs now);
  void Answer(Pending& pending, ResolutionKind kind, Token token, Effects& effects);
  void ServeLine(LockEntry& lock, TimeMs now, Effects& effects);
  void ServeWatchers(LockEntry& lock, Effects& effects);
  void DestroyWatcher(Watcher& watcher);
  // What follows from any change to holds or line; the lock stays.
  void Serve(LockEntry& lock, TimeMs now, Effects& effects);
  // Frees what the lock no longer needs; true: the lock itself.
  bool Discard(std::uint64_t hash, LockEntry& lock);

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
  static LockEntry& LockOf(TimerNode& node);
  static std::uint64_t OrderOf(const TimerNode& node);

  // Looking (lock_engine_inspect.cc).
  template <typename Visit>
  static void VisitHolds(const LockEntry& lock, Visit&& visit);
  HolderInfo Describe(const Hold& hold, TimeMs now) const;
  PlaceInfo Describe(const Claim& place, std::uint64_t position, TimeMs now) const;
  std::vector<HolderInfo> DescribeHolders(const LockEntry& lock, std::size_t holders_max,
                                          TimeMs now) const;
  std::uint64_t PositionOf(const Claim& place) const;
  LockSummary Summarize(const LockEntry& lock, TimeMs now) const;
  void CheckLock(const LockEntry& lock, EngineCounts& found) const;

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
