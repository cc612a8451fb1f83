// The claims of one MLOCK: one on each of its keys, and one request for all of them.
#pragma once

#include <boost/container/static_vector.hpp>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "server/engine/api/attachment.h"
#include "server/engine/api/types.h"
#include "server/engine/containers/linear_hash.h"
#include "server/engine/containers/timer_wheel.h"
#include "server/engine/state/claim.h"

namespace fairlock::engine {

// The multi-lock has the timer and the connection of the place; each hold has its own lease and
// session.
//
// The request creates it, and it ends with its last claim. Its claims are either places, all with
// the same arrival and state, or holds with the same token.
class MultiLock final : public TimerNode, public Pending {
 public:
  explicit MultiLock(std::span<const KeyName> its_keys);

  // Whether its keys are exactly these, in any order.
  bool IsOf(std::span<const KeyName> others) const;
  std::size_t key_count() const { return keys_.size(); }
  const std::vector<std::string>& keys() const { return keys_; }
  // False: one of its holds has ended, or it never had a claim on each key.
  bool is_whole() const { return claims.size() == keys_.size(); }
  bool is_held() const { return token != 0; }

  // In the order in which the MLOCK named their keys, which is the order of `rank`; claims that
  // have ended are not included.
  std::vector<Claim*> claims;
  Token token = 0;  // the token of its holds; 0: it is in the queue
  // Whether one of its holds was renewed or transferred, so that the grant cannot be undone.
  bool is_touched = false;

 private:
  std::vector<std::string> keys_;  // sorted
};

// The locks that one request names.
using LockList = boost::container::static_vector<LockEntry*, kMlockKeysMax>;
using LockSpan = std::span<LockEntry* const>;

// TimerOf: the timer of a place. RequestOf: the object that is attached to the connection of its
// request.
inline TimerNode& TimerOf(Claim& place) {
  MultiLock* multi_lock = place.multi_lock();
  return multi_lock != nullptr ? static_cast<TimerNode&>(*multi_lock) : place;
}
inline const TimerNode& TimerOf(const Claim& place) { return TimerOf(const_cast<Claim&>(place)); }
inline Pending& RequestOf(Claim& place) {
  MultiLock* multi_lock = place.multi_lock();
  return multi_lock != nullptr ? static_cast<Pending&>(*multi_lock) : place;
}

// The claim itself, or, if it belongs to an MLOCK, the first remaining claim of the MLOCK.
inline const Claim& FirstClaim(const Claim& claim) {
  const MultiLock* multi_lock = claim.multi_lock();
  return multi_lock != nullptr ? *multi_lock->claims.front() : claim;
}
inline Claim& FirstClaim(Claim& claim) {
  return const_cast<Claim&>(FirstClaim(static_cast<const Claim&>(claim)));
}

// Any claim of the place. REQUIRES: it is not a watcher.
inline Claim& PlaceOf(Pending& pending) {
  assert(pending.pending_kind != PendingKind::kWatcher);
  if (pending.pending_kind == PendingKind::kMultiLock) {
    return *static_cast<MultiLock&>(pending).claims.front();
  }
  return static_cast<Claim&>(pending);
}

// Visits the claim, or all claims of its MLOCK. The visit must not remove any.
template <typename Visit>
void ForEachClaim(Claim& claim, Visit&& visit) {
  MultiLock* multi_lock = claim.multi_lock();
  if (multi_lock == nullptr) {
    visit(claim);
    return;
  }
  for (Claim* member : multi_lock->claims) visit(*member);
}

// The multi-locks whose claims are holds, by token.
// All calls are O(1) on average.
class MultiLockTable {
 public:
  MultiLockTable() : multi_locks_(HashOfMultiLock{}) {}

  void Insert(MultiLock& multi_lock) { multi_locks_.Insert(HashOf(multi_lock.token), multi_lock); }
  void Erase(const MultiLock& multi_lock) {
    multi_locks_.Erase(HashOf(multi_lock.token), multi_lock);
  }
  MultiLock* Find(Token token) const {
    if (multi_locks_.size() == 0) return nullptr;
    return multi_locks_.Find(
        HashOf(token), [&](const MultiLock& multi_lock) { return multi_lock.token == token; });
  }

 private:
  static std::uint64_t HashOf(Token token) { return token * 0x9e37'79b9'7f4a'7c15; }
  struct HashOfMultiLock {
    std::uint64_t operator()(const MultiLock& multi_lock) const { return HashOf(multi_lock.token); }
  };

  LinearHash<MultiLock, HashOfMultiLock> multi_locks_;
};

}  // namespace fairlock::engine
