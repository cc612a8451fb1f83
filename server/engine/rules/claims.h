// Claims: an owner has at most one claim on a lock, which is a hold or a place. A lock exists while
// it has a claim, a watcher or a cooldown. The claims of an MLOCK belong together until the last
// one ends.
#pragma once

#include <cstdint>

#include "server/engine/api/requests.h"
#include "server/engine/state/engine_state.h"
#include "server/engine/state/multi_lock.h"

namespace fairlock::engine {

// Loop-confined.
class Claims {
 public:
  explicit Claims(EngineState& state) : state_(state) {}

  DurationMs LeaseOf(const LockRequest& request) const;
  Claim& Create(LockEntry& lock, const LockRequest& request, ClientRef client);
  void ApplyOptions(Claim& claim, const LockRequest& request, ClientRef client);
  void SetClient(Hold& hold, ClientRef client);
  void Destroy(Claim& claim);
  Claim& MovePlainHoldToClaim(LockEntry& lock);
  // Frees what the lock no longer needs. True: the lock itself was freed.
  bool Discard(std::uint64_t hash, LockEntry& lock);
  void DiscardAll(LockSpan locks);
  void AddToMultiLock(MultiLock& multi_lock, Claim& claim);
  void StartMultiLock(MultiLock& multi_lock, Token token);  // its places become holds
  void StopMultiLock(MultiLock& multi_lock);                // its holds become places again

 private:
  void DropFromMultiLock(Claim& claim);

  EngineState& state_;
};

}  // namespace fairlock::engine
