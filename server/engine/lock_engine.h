// The rules of locking: who holds which lock, who waits for it, and what follows from each request
// and from time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "server/engine/deadlock_search.h"
#include "server/engine/inspection.h"
#include "server/engine/kept_state.h"
#include "server/engine/lock_core.h"
#include "server/engine/requests.h"

namespace fairlock::engine {

// Commands in, effects out; no I/O, no clock, no threads, no randomness.
//
// Every call takes `now`, which must not go back. Times that have come are in the past for the
// caller: a command first settles the key it names, whether or not Advance has reached it yet. A
// waiting request is answered later by a Resolution that names its Attachment.
//
// Loop-confined. Lock, Unlock, Renew, Cancel, Transfer and each grant are O(1), of an MLOCK
// O(keys); see QUEUE and LOCKS for theirs.
class LockEngine final : public LockCore {
 public:
  explicit LockEngine(const EngineOptions& options) : LockCore(options) {}

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

  // Why the last LOCK or MLOCK that was told kDeadlock was.
  const Deadlock& deadlock() const { return deadlock_; }

  // All or nothing; afterwards each key has a hold of its own under the common token.
  LockResult Mlock(const MlockRequest& request, Attachment& from, TimeMs now, Effects& effects);
  // True: all leases now end that long from now; false: none has changed.
  bool Mrenew(const MrenewRequest& request, TimeMs now, Effects& effects);
  // How many were held and are released. Without token the owner's places go too.
  std::size_t Munlock(const MunlockRequest& request, TimeMs now, Effects& effects);

  // The channel has its first subscriber: the owners of its absent places are back. Or its last one
  // is gone: places outlive it by KEEP or for the grace, and sessions bound to it end or have their
  // grace. Grants told to nobody are to be undone after it. O(places of the channel).
  void OpenChannel(std::string_view name, TimeMs now, Effects& effects);
  void CloseChannel(std::string_view name, TimeMs now, Effects& effects);
  // False: no hold and no place names it, so nothing follows from either.
  bool KnowsChannel(std::string_view name) const { return channels_.Find(name) != nullptr; }

  // Looking. Each first settles the key, so it may have effects.
  std::uint64_t CountHolders(const KeyName& key, TimeMs now, Effects& effects);
  // A number that differs when leases end at other times, for as long as the holders are the same.
  std::uint64_t LeaseStamp(const KeyName& key, TimeMs now, Effects& effects);
  bool IsHeldBy(const KeyName& key, std::string_view owner, TimeMs now, Effects& effects);
  // 0 holds, n place in line (exact to 1,000, beyond that an upper bound), none neither.
  std::optional<std::uint64_t> Position(const KeyName& key, std::string_view owner, TimeMs now,
                                        Effects& effects);
  LockInfo Inspect(const KeyName& key, std::size_t holders_max, TimeMs now, Effects& effects);
  Explanation Explain(const KeyName& key, std::string_view owner, TimeMs now, Effects& effects);
  // Places `start` .. `start + count - 1`, counted from 0. O(start + count).
  std::vector<PlaceInfo> Queue(const KeyName& key, std::uint64_t start, std::uint64_t count,
                               TimeMs now, Effects& effects);
  // Looks at about `count` locks from `cursor` on (0 begins) and visits those that the filter lets
  // through; returns the next cursor, 0 at the end. A lock that is there from begin to end, with
  // wait_ms_min one that has a line, is looked at at least once, whatever else comes and goes. Does
  // not settle. With wait_ms_min it walks only the locks that have a line.
  std::uint64_t Scan(std::uint64_t cursor, std::size_t count, const LockFilter& filter, TimeMs now,
                     const std::function<void(const LockSummary&)>& visit) const;
  // None: no request of that connection waits.
  static std::optional<AwaitedLock> AwaitedBy(const Attachment& attachment);

  // What is kept, by the names of the change log; none: it is gone. A time left of a lease that was
  // written down before is forgotten: what is told now takes its place.
  std::optional<KeptHold> FindKeptHold(const ChangeLog::Name& name);
  std::optional<KeptPlace> FindKeptPlace(const ChangeLog::PlaceName& name, std::string_view owner);
  std::optional<KeptCooling> FindKeptCooling(const ChangeLog::Name& name, TimeMs now);
  // Visits all that is kept on about `count` locks from `cursor` on, as Scan does.
  std::uint64_t ScanKept(std::uint64_t cursor, std::size_t count, const KeptDetail& detail,
                         TimeMs now, KeptSink& sink);
  // The same for leases of at least `lease_ms_min` of which another tenth has passed since `then`.
  std::uint64_t ScanLongLeases(std::uint64_t cursor, std::size_t count, DurationMs lease_ms_min,
                               TimeMs then, TimeMs now, KeptSink& sink);

  // As many locks are about to come back: they find their room made, which takes less time.
  void ReserveLocks(std::size_t locks) { table_.Reserve(locks); }
  // Brings back what was kept, before the first request: of each key the holds by rising token and
  // the places by rising arrival. Nobody is told of it. Sessions, and places that are passed over,
  // have at least `restart_grace_ms` to come back.
  void Restore(const KeptHold& hold, DurationMs restart_grace_ms, TimeMs now);
  void Restore(const KeptPlace& place, DurationMs restart_grace_ms, TimeMs now);
  void Restore(const KeptCooling& room, TimeMs now);
  // Then rooms are reserved for those whose turn it is, and tokens begin at `first_token`.
  void EndRestore(Token first_token, TimeMs now, Effects& effects);

  // The reply of that grant leaves `delay_ms` after it was decided: its times count from now on.
  void DelayGrant(const ChangeLog::Name& name, DurationMs delay_ms);

 private:
  // Requests (lock_engine.cc; of SET NX lock_engine_values.cc).
  LockResult GrantNewLock(std::uint64_t hash, const LockRequest& request, Attachment& from,
                          TimeMs now);
  LockResult AskDrained(std::uint64_t hash, const LockRequest& request, Attachment& from,
                        TimeMs now, Effects& effects);
  LockResult GrantAtOnce(std::uint64_t hash, LockEntry& lock, const LockRequest& request,
                         Attachment& from, TimeMs now);
  static bool Covers(const Mode& held, const Mode& asked);
  Hold& Reacquire(std::uint64_t hash, LockEntry& lock, Hold& held, const LockRequest& request,
                  Attachment& from, TimeMs now);
  void ProlongByRepeat(LockEntry& lock, Hold& hold, const LockRequest& request, Attachment& from,
                       TimeMs now);
  // By the owner of the place; of an MLOCK by any of its claims.
  LockResult RepeatWaiting(Claim& place, const LockRequest& request, Attachment& from, TimeMs now,
                           Effects& effects);
  void Supersede(Claim& place, const LockRequest& request, TimeMs now, Effects& effects);
  LockResult AskAnew(std::uint64_t hash, LockEntry& lock, const LockRequest& request,
                     Attachment& from, TimeMs now, Effects& effects);
  bool MayPass(const LockEntry& lock, const Mode& mode) const;
  static bool IsFull(const LockEntry& lock, const LockRequest& request);
  static Claim& NewestOf(LockEntry& lock);
  void ReplaceNewest(LockEntry& lock, std::string_view by, TimeMs now, Effects& effects);
  // Under what the owner of a hold, and with it the token, become others.
  struct Succession {
    std::string_view new_owner;
    TimeMs end = kNever;      // of the lease
    DurationMs lease_ms = 0;  // on record; 0: without end
    bool is_redis_way = false;
    bool keeps_terms = true;  // mode, META and MINHOLD; else it is a plain hold
    ClientRef client = kUnknownClient;
  };
  // The lock stays. REQUIRES: the new owner does not hold it.
  Token HandOver(std::uint64_t hash, LockEntry& lock, Hold& hold, const Succession& terms,
                 TimeMs now, Effects& effects);
  Claim& ClaimForHeir(LockEntry& lock, std::string_view new_owner, TimeMs now, Effects& effects);
  void InheritOptions(Claim& heir, Claim& old, bool keeps_terms);
  static bool IsRenewable(const Hold* hold);
  void RenewHold(std::uint64_t hash, LockEntry& lock, Hold& hold, const RenewRequest& request,
                 TimeMs now);
  void CancelPlace(Claim& place, TimeMs now, Effects& effects);
  void EndReservationsAndCooling(LockEntry& lock, TimeMs now);
  LockResult AskAgainByValue(std::uint64_t hash, Claim& place, const LockRequest& request,
                             Attachment& from, TimeMs now, Effects& effects);
  void MarkValue(LockEntry& lock, const LockRequest& request, const Attachment& from, TimeMs now);

  // Deadlocks (lock_engine_deadlock.cc). Whether a wait would never end; then `deadlock_` says why.
  bool IsDeadlock(const WaitQuestion& question, TimeMs now);
  // False: nothing on that key can keep a newcomer for ever. O(holders), at most `deadlock_search`.
  bool MayNeverHaveRoom(const LockEntry& lock) const;
  // With REPLACE the place `leaving` ends before it waits.
  bool IsDeadlockOfNewcomer(const LockEntry& lock, const LockRequest& request, const Claim* leaving,
                            TimeMs now);
  bool IsDeadlockOfPlace(const Claim& place, const Mode& mode, TimeMs now);
  // `is_replacing`: the newest places of full lines end before it waits.
  bool IsDeadlockOfMlock(const LockRequest& each, bool is_replacing, TimeMs now);
  LockResult RefuseDeadlock(const LockEntry& lock, const LockRequest& request, ClientRef client,
                            TimeMs now);
  LockResult RefuseDeadlockOfMlock(std::size_t key, const LockRequest& each, ClientRef client,
                                   TimeMs now);

  // MLOCK (lock_engine_mlock.cc).
  struct NamedLock {
    KeyName name;
    LockEntry* lock = nullptr;  // null: there is none
  };
  // What the owner has on the keys, as far as it is of one kind.
  struct Stake {
    Group* group = nullptr;              // of exactly these keys
    std::optional<std::size_t> other{};  // the first key on which it has something else
  };
  void FindNamed(std::span<const KeyName> keys, TimeMs now, Effects& effects);
  void FindNamedAgain();
  // Frees those of which nothing is left.
  void DiscardNamed();
  void DropMarks(std::string_view owner);
  Stake FindStake(std::span<const KeyName> keys, std::string_view owner);
  LockResult ReacquireAll(const Group& group, const MlockRequest& request, Attachment& from,
                          TimeMs now);
  LockResult RepeatWaitingAll(const Group& group, const MlockRequest& request, Attachment& from,
                              TimeMs now, Effects& effects);
  void ReleaseAll(const Group& group, TimeMs now, Effects& effects);
  LockResult AskAllAnew(const MlockRequest& request, Attachment& from, TimeMs now,
                        Effects& effects);
  LockResult AskOrJoin(const MlockRequest& request, Attachment& from, TimeMs now, Effects& effects);
  std::size_t CountMissing() const;
  void NeedLock(NamedLock& named);
  // A drained key that nobody holds or waits for has nothing else that could be asked.
  void NeedDrainedLocks();
  // The first of the keys that a newcomer may not have now; none: it may have all.
  std::optional<std::size_t> FindBlockedKey(const Mode& mode) const;
  // The first of the keys whose line is full, with none that REPLACE could end.
  std::optional<std::size_t> FindRefusingLine(const LockRequest& request) const;
  LockResult GrantAllAtOnce(const MlockRequest& request, Attachment& from, TimeMs now);
  void ReplaceNewestOfFullLines(const LockRequest& request, TimeMs now, Effects& effects);
  LockResult DenyAll(const MlockRequest& request, ClientRef client, std::size_t key,
                     DenialReason reason, TimeMs now);
  Group& MakeClaims(const MlockRequest& request, ClientRef client);
  void ShareMeta(const Group& group);

  // NOTIFY (lock_engine_notify.cc).
  // The locks of these places, each once, in the order of their arrival, in which they then stand.
  static std::vector<LockEntry*> LocksByArrival(Attachment::List& places);
  void ReturnToWait(Claim& place, TimeMs now, Effects& effects);
  // What follows on all of them; ends their settling.
  void ServeAll(LockSpan locks, TimeMs now, Effects& effects);

  // What is kept (lock_engine_kept.cc).
  bool BringsOptions(const Hold& hold, const LockRequest& request) const;
  bool HasOptions(const Claim& place, const LockRequest& request) const;
  KeptHold KeptOf(const LockEntry& lock, Hold& hold, bool with_time_left, TimeMs now) const;
  KeptPlace KeptOf(Claim& place) const;
  KeptClaim KeepOptions(const Claim& claim) const;
  void KeepAll(LockEntry& lock, const KeptDetail& detail, TimeMs now, KeptSink& sink);
  LockEntry& LockToRestore(const KeyName& key, const PlainTerms& terms);
  Claim& RestoreClaim(LockEntry& lock, const KeptClaim& kept);
  Claim& RestorePlace(const KeyName& key, const KeptPlace& kept, TimeMs now);
  Group& GroupToRestore(const KeptHold& kept);

  // Looking (lock_engine_inspect.cc).
  template <typename Visit>
  static void VisitHolds(const LockEntry& lock, Visit&& visit);
  HolderInfo Describe(const Hold& hold, TimeMs now) const;
  PlaceInfo Describe(const Claim& place, std::uint64_t position, TimeMs now) const;
  std::vector<HolderInfo> DescribeHolders(const LockEntry& lock, std::size_t holders_max,
                                          TimeMs now) const;
  static void DescribeRooms(const LockDetail& detail, LockInfo& info, TimeMs now);
  std::uint64_t PositionOf(const Claim& place) const;
  LockSummary Summarize(const LockEntry& lock, TimeMs now) const;
  bool Passes(const LockFilter& filter, const LockEntry& lock, const LockSummary& summary) const;

  friend class RedisLocks;

  Deadlock deadlock_;
  std::vector<NamedLock> named_;  // scratch: the locks that an MLOCK is about, in its order
};

}  // namespace fairlock::engine
