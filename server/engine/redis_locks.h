// The locks of an engine as the commands of Redis see and change them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "server/engine/lock_engine.h"
#include "server/engine/redis_requests.h"

namespace fairlock::engine {

// A value that is set is an owner who holds: there is no second store, and waiters of LOCK stand in
// the same line. What was not taken the Redis way, DEL and its kin leave as it is and tell of
// (kRefused), unless `ends_native_leases` is on.
//
// A view of the engine without state of its own; cheap to make. Loop-confined.
class RedisLocks {
 public:
  explicit RedisLocks(LockEngine& engine) : engine_(engine) {}

  // With NX it asks as LOCK ... NEW does, and is not idempotent.
  WriteResult Write(const WriteRequest& request, Attachment& from, TimeMs now, Effects& effects);
  // All or none; a key that is named again gets the later value. `granted` gets a result for each.
  WriteStatus WriteAllNew(std::span<const WriteRequest> requests, Attachment& from, TimeMs now,
                          Effects& effects, std::span<WriteResult> granted);
  // Ends what holds the key; true: something did.
  bool Release(const KeyName& key, const Attachment& from, TimeMs now, Effects& effects);
  // True: the lease is another now, or over.
  bool Expire(const ExpiryRequest& request, const Attachment& from, TimeMs now, Effects& effects);
  // Ends all that was taken the Redis way, of one database or all; then lines are looked at.
  // REQUIRES: within a step.
  void Flush(std::optional<std::uint8_t> db, const Attachment& from, TimeMs now, Effects& effects);

  // Views are valid until the next change.
  KeyLook Look(const KeyName& key, TimeMs now, Effects& effects);
  // Whether what holds the key may be ended or changed by who is not its owner; false is told.
  bool MayChange(const KeyName& key, const Attachment& from, TimeMs now, Effects& effects);
  // Keys that exist, as LockEngine::Scan walks; pauses early once the budget is spent.
  std::uint64_t Scan(std::uint64_t cursor, std::size_t count, std::uint8_t db, MatchBudget& budget,
                     const std::function<void(const KeyName&, bool is_semaphore)>& visit) const;

 private:
  WriteResult AskNew(const WriteRequest& request, Attachment& from, TimeMs now, Effects& effects);
  WriteResult Rewrite(std::uint64_t hash, LockEntry& lock, const WriteRequest& request,
                      Attachment& from, TimeMs now, Effects& effects);
  WriteResult TakeOver(std::uint64_t hash, LockEntry& lock, const WriteRequest& request,
                       const Attachment& from, TimeMs now, Effects& effects);
  Hold& EndAllButOne(std::uint64_t hash, LockEntry& lock, std::string_view heir, TimeMs now);
  void MakeRoomForOne(LockEntry& lock);
  // Whether a SET NX of that value would be granted now; the key is settled.
  bool WouldBeGranted(const WriteRequest& request);
  bool MayEnd(const LockEntry& lock) const;
  // 0: without end.
  void SetLease(std::uint64_t hash, LockEntry& lock, Hold& hold, DurationMs lease_ms, TimeMs now);
  void EndAllHolds(std::uint64_t hash, LockEntry& lock, LockEngine::HoldEnd end, TimeMs now);
  // The hold of that token, if it is still there, is over.
  void ExpireNow(const KeyName& key, Token token, TimeMs now, Effects& effects);
  void FlushLock(std::uint64_t hash, LockEntry& lock, const Attachment& from, TimeMs now,
                 Effects& effects);
  static bool Exists(const LockEntry& lock);
  static bool IsSemaphore(const LockEntry& lock);
  // REQUIRES: held.
  static const Hold& LongestHold(const LockEntry& lock);
  static std::optional<DurationMs> TimeLeft(const LockEntry& lock, TimeMs now);

  LockEngine& engine_;
};

}  // namespace fairlock::engine
