#include <boost/container/static_vector.hpp>

#include "server/engine/rules/engine_rules.h"
#include "server/engine/state/multi_lock.h"

namespace fairlock::engine {

void Deadlocks::set_sharing(bool is_sharing) {
  shared_steps_left_.reset();
  if (is_sharing) shared_steps_left_ = state_.options.deadlock_search;
}

bool Deadlocks::IsDeadlock(const WaitQuestion& question, TimeMs now) {
  const std::size_t steps_max = shared_steps_left_.value_or(state_.options.deadlock_search);
  DeadlockSearch search(state_.waiting, state_.overrides, steps_max, now);
  const bool is_stuck = search.IsStuck(question);
  searched_ += steps_max - search.steps_left();
  if (shared_steps_left_) shared_steps_left_ = search.steps_left();
  if (!is_stuck) return false;
  search.Describe(deadlock_);
  return true;
}

// Usually no holder waits for anything. In that case, only requests for several keys can be stuck
// in the queue.
bool Deadlocks::MayNeverHaveSlot(const LockEntry& lock) {
  if (state_.waiting.empty()) return false;
  if (lock.contended != nullptr && lock.contended->multi_locks_in_queue > 0) return true;
  const std::uint8_t db = lock.key().db;
  if (lock.has_plain_hold() && state_.waiting.Find(db, lock.plain_owner()) != nullptr) return true;
  if (lock.contended == nullptr) return false;
  std::size_t steps_left = state_.options.deadlock_search;
  for (const Claim& hold : lock.contended->holds) {
    if (steps_left-- == 0) return false;
    ++searched_;
    if (state_.waiting.Find(db, hold.owner()) != nullptr) return true;
  }
  return false;
}

bool Deadlocks::IsDeadlockOfNewcomer(const LockEntry& lock, const LockRequest& request,
                                     const Claim* leaving, TimeMs now) {
  if (!MayNeverHaveSlot(lock)) return false;
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

bool Deadlocks::IsDeadlockOfPlace(const Claim& place, const Mode& mode, TimeMs now) {
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

LockResult Deadlocks::RefuseDeadlock(const LockEntry& lock, const LockRequest& request,
                                     ClientRef client, TimeMs now) {
  const std::uint64_t hash = state_.table.HashOf(lock.key());
  LockResult refused =
      rules_.events.Deny(hash, lock, request, client, DenialReason::kDeadlock, now);
  refused.status = LockStatus::kDeadlock;
  return refused;
}

}  // namespace fairlock::engine
