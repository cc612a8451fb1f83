// The rules of locking: who holds which lock, who waits for it, and what follows from each request
// and from time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "server/engine/inspection.h"
#include "server/engine/lock_core.h"
#include "server/engine/requests.h"

namespace fairlock::engine {

// Commands in, effects out; no I/O, no clock, no threads, no randomness.
//
// Every call takes `now`, which must not go back. Times that have come are in the past for the
// caller: a command first settles the key it names, whether or not Advance has reached it yet. A
// waiting request is answered later by a Resolution that names its Attachment.
//
// Loop-confined. Lock, Unlock, Renew, Cancel, Transfer and each grant are O(1); see QUEUE and LOCKS
// for theirs.
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

 private:
  // Requests (lock_engine.cc).
  LockResult GrantNewLock(std::uint64_t hash, const LockRequest& request, Attachment& from,
                          TimeMs now);
  LockResult AskDrained(std::uint64_t hash, const LockRequest& request, Attachment& from,
                        TimeMs now, Effects& effects);
  LockResult GrantAtOnce(std::uint64_t hash, LockEntry& lock, const LockRequest& request,
                         Attachment& from, TimeMs now);
  LockResult Reacquire(std::uint64_t hash, LockEntry& lock, Hold& held, const LockRequest& request,
                       Attachment& from, TimeMs now);
  void ProlongByRepeat(LockEntry& lock, Hold& hold, const LockRequest& request, Attachment& from,
                       TimeMs now);
  LockResult RepeatWaiting(std::uint64_t hash, Claim& place, const LockRequest& request,
                           Attachment& from, TimeMs now, Effects& effects);
  LockResult AskAnew(std::uint64_t hash, LockEntry& lock, const LockRequest& request,
                     Attachment& from, TimeMs now, Effects& effects);
  bool MayPass(const LockEntry& lock, const Mode& mode) const;
  void ReplaceNewest(LockEntry& lock, std::string_view by, TimeMs now, Effects& effects);
  void InheritOptions(Claim& heir, Claim& old);
  void EndReservationsAndCooling(std::uint64_t hash, LockEntry& lock, TimeMs now);

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
};

}  // namespace fairlock::engine
