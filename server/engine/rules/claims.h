// Claims: an owner has at most one claim on a lock, which is a hold or a place. A lock exists while
// it has a claim, a watcher or a cooldown. The claims of an MLOCK belong together until the last
// one ends.
#pragma once

#include <cstdint>

#include "server/engine/api/requests.h"
#include "server/engine/state/engine_state.h"
#include "server/engine/state/multi_lock.h"

namespace fairlock::engine {

// It has no state of its own.
class Claims {
 public:
  static DurationMs LeaseOf(const EngineState& state, const LockRequest& request);
  static Claim& Create(EngineState& state, LockEntry& lock, const LockRequest& request,
                       ClientRef client);
  static void ApplyOptions(EngineState& state, Claim& claim, const LockRequest& request,
                           ClientRef client);
  static void SetClient(EngineState& state, Hold& hold, ClientRef client);
  static void Destroy(EngineState& state, Claim& claim);
  static Claim& MovePlainHoldToClaim(EngineState& state, LockEntry& lock);
  // Frees what the lock no longer needs. True: the lock itself was freed.
  static bool Discard(EngineState& state, std::uint64_t hash, LockEntry& lock);
  static void DiscardAll(EngineState& state, LockSpan locks);
  static void AddToMultiLock(MultiLock& multi_lock, Claim& claim);
  // StartMultiLock: its places become holds. StopMultiLock: its holds become places again.
  static void StartMultiLock(EngineState& state, MultiLock& multi_lock, Token token);
  static void StopMultiLock(EngineState& state, MultiLock& multi_lock);

 private:
  static void DropFromMultiLock(EngineState& state, Claim& claim);
};

}  // namespace fairlock::engine
