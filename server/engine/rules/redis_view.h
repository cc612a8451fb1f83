// The Redis commands: setting a value creates a hold whose owner is the value. There is no second
// store, and LOCK requests wait in the same queue. DEL and similar commands leave a native hold as
// it is and emit kRefused, unless `ends_native_leases` is on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "server/engine/api/effects.h"
#include "server/engine/api/glob.h"
#include "server/engine/api/redis_requests.h"
#include "server/engine/api/requests.h"
#include "server/engine/rules/events.h"
#include "server/engine/rules/rule.h"
#include "server/engine/state/lock_entry.h"

namespace fairlock::engine {

class RedisView : Rule {
 public:
  using Rule::Rule;

  // With NX, requests the lock like LOCK ... NEW, so repeating it does not succeed again.
  WriteResult Write(const WriteRequest& request, Attachment& from, Step step);
  // Grants all requests or none; a key that is named twice gets the later value. `granted` receives
  // a result for each request.
  WriteStatus WriteAllNew(std::span<const WriteRequest> requests, Attachment& from, Step step,
                          std::span<WriteResult> granted);
  // Grants all requests, which have no NX or XX and name different keys, or none: then returns the
  // position of one that would be refused, which has a result that says why. Otherwise, `written`
  // receives a result for each request.
  std::optional<std::size_t> WriteAll(std::span<const WriteRequest> requests, Attachment& from,
                                      Step step, std::span<WriteResult> written);
  // Ends the holds of the key. True: it had holds.
  bool Release(const KeyName& key, const Attachment& from, Step step);
  ExpiryStatus Expire(const ExpiryRequest& request, const Attachment& from, Step step);
  // Ends the holds that Redis commands took of about `count` locks from `cursor` on, in one
  // database or in all. The cursor works as in Inspections::Scan. REQUIRES: within a transaction.
  std::uint64_t Flush(std::uint64_t cursor, std::size_t count, std::optional<std::uint8_t> db,
                      const Attachment& from, Step step);
  // Views are valid until the next change.
  KeyLook Look(const KeyName& key, Step step);
  // As Look, but does not end what is due, so all views stay valid.
  KeyLook Peek(const KeyName& key, TimeMs now) const;
  // Whether a Redis command may end or change the holds of the key; if not, emits kRefused.
  bool MayChange(const KeyName& key, const Attachment& from, Step step);
  // Visits the keys that exist. The cursor works as in Inspections::Scan. Pauses early if the
  // budget is spent.
  std::uint64_t Scan(std::uint64_t cursor, std::size_t count, std::uint8_t db, MatchBudget& budget,
                     const std::function<void(const KeyName&, bool is_semaphore)>& visit) const;

 private:
  WriteResult AskNew(const WriteRequest& request, Attachment& from, Step step);
  WriteResult Rewrite(std::uint64_t hash, LockEntry& lock, const WriteRequest& request,
                      Attachment& from, Step step);
  WriteResult TakeOver(std::uint64_t hash, LockEntry& lock, const WriteRequest& request,
                       const Attachment& from, Step step);
  Hold& EndAllButOne(std::uint64_t hash, LockEntry& lock, std::string_view heir, TimeMs now);
  void FreeSlotForOne(LockEntry& lock);
  // Whether a SET NX of that value would be granted now. REQUIRES: what is due on the key has
  // ended.
  bool WouldBeGranted(const WriteRequest& request);
  // What Write would do without NX and XX, apart from the bounds on new locks and holds. REQUIRES:
  // as above.
  WriteResult Forecast(const WriteRequest& request);
  bool MayEnd(const LockEntry& lock) const;
  static bool IsAnyLeaving(const LockEntry& lock);
  // Gives the hold a new lease; 0: it never ends.
  void SetLease(std::uint64_t hash, LockEntry& lock, Hold& hold, DurationMs lease_ms, TimeMs now);
  void EndAllHolds(std::uint64_t hash, LockEntry& lock, HoldEnd end, TimeMs now);
  // Ends the hold with that token, if it still exists, and reports it as expired.
  void ExpireNow(const KeyName& key, Token token, Step step);
  void FlushLock(std::uint64_t hash, LockEntry& lock, const Attachment& from, Step step);
  static KeyLook LookAt(const LockEntry& lock, TimeMs now);
  static bool Exists(const LockEntry& lock);
  static bool IsSemaphore(const LockEntry& lock);
  // REQUIRES: the lock is held.
  static const Hold& LongestHold(const LockEntry& lock);
  static std::optional<DurationMs> TimeLeft(const LockEntry& lock, TimeMs now);
};

}  // namespace fairlock::engine
