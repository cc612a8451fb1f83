// Waits that would never end.

#include <algorithm>
#include <boost/container/static_vector.hpp>

#include "server/engine/lock_engine.h"

namespace fairlock::engine {

bool LockEngine::IsDeadlock(const WaitQuestion& question, TimeMs now) {
  DeadlockSearch search(waiting_, overrides_, options_.deadlock_search, now);
  if (!search.IsStuck(question)) return false;
  search.Describe(deadlock_);
  return true;
}

// Mostly no holder waits for anything, and then only requests for several keys can be stuck in
// line.
bool LockEngine::MayNeverHaveRoom(const LockEntry& lock) const {
  if (waiting_.empty()) return false;
  if (lock.detail != nullptr && lock.detail->groups_in_line > 0) return true;
  const std::uint8_t db = lock.key().db;
  if (lock.has_plain_hold() && waiting_.Find(db, lock.plain_owner()) != nullptr) return true;
  if (lock.detail == nullptr) return false;
  std::size_t steps_left = options_.deadlock_search;
  for (const Claim& hold : lock.detail->holds) {
    if (steps_left-- == 0) return false;
    if (waiting_.Find(db, hold.owner()) != nullptr) return true;
  }
  return false;
}

bool LockEngine::IsDeadlockOfNewcomer(const LockEntry& lock, const LockRequest& request,
                                      const Claim* leaving, TimeMs now) {
  if (!MayNeverHaveRoom(lock)) return false;
  const WaitQuestion::Key key = {.lock = &lock};
  if (leaving != nullptr) leaving = &FirstClaim(*leaving);
  const std::size_t leaving_count = leaving != nullptr ? 1 : 0;
  return IsDeadlock({.db = request.key.db,
                     .owner = request.owner,
                     .mode = request.mode(),
                     .keys = {&key, 1},
                     .leaving = {&leaving, leaving_count}},
                    now);
}

bool LockEngine::IsDeadlockOfPlace(const Claim& place, const Mode& mode, TimeMs now) {
  boost::container::static_vector<WaitQuestion::Key, kMlockKeysMax> keys;
  ForEachClaim(const_cast<Claim&>(place), [&](const Claim& claim) {
    keys.push_back({.lock = &claim.lock, .number = claim.number});
  });
  return IsDeadlock({.db = place.lock.key().db,
                     .owner = place.owner(),
                     .mode = mode,
                     .keys = keys,
                     .own = &FirstClaim(place)},
                    now);
}

bool LockEngine::IsDeadlockOfMlock(const LockRequest& each, bool is_replacing, TimeMs now) {
  const bool may_be = std::any_of(named_.begin(), named_.end(), [&](const NamedLock& named) {
    return named.lock != nullptr && MayNeverHaveRoom(*named.lock);
  });
  if (!may_be) return false;
  boost::container::static_vector<WaitQuestion::Key, kMlockKeysMax> keys;
  boost::container::static_vector<const Claim*, kMlockKeysMax> leaving;
  for (const NamedLock& named : named_) {
    if (named.lock == nullptr) continue;
    keys.push_back({.lock = named.lock});
    const bool is_full = IsFull(*named.lock, each) && named.lock->standing_count() > 0;
    if (is_replacing && is_full) leaving.push_back(&FirstClaim(NewestOf(*named.lock)));
  }
  return IsDeadlock({.db = named_.front().name.db,
                     .owner = each.owner,
                     .mode = each.mode(),
                     .keys = keys,
                     .leaving = leaving},
                    now);
}

LockResult LockEngine::RefuseDeadlock(const LockEntry& lock, const LockRequest& request,
                                      ClientRef client, TimeMs now) {
  const std::uint64_t hash = table_.HashOf(lock.key());
  LockResult refused = Deny(hash, lock, request, client, DenialReason::kDeadlock, now);
  refused.status = LockStatus::kDeadlock;
  return refused;
}

LockResult LockEngine::RefuseDeadlockOfMlock(std::size_t key, const LockRequest& each,
                                             ClientRef client, TimeMs now) {
  LockResult refused = RefuseDeadlock(*named_[key].lock, each, client, now);
  refused.key = key;
  return refused;
}

}  // namespace fairlock::engine
