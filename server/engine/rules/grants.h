// Grants: whenever a slot becomes free or the queue changes, the places whose turn has come are
// granted, or get a slot reserved if their owner is absent. If thousands can be granted at once,
// most of them follow in the next calls of Advance, in their order. Within a transaction (EXEC, a
// script) this happens at the end, the longest wait first.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "server/engine/api/effects.h"
#include "server/engine/rules/rule.h"

namespace fairlock::engine {

class Grants : Rule {
 public:
  using Rule::Rule;

  // Call this after each change to the holds or the queue of the lock; the lock is not freed.
  // Grants what the change makes possible, also in queues that are enqueued in the meantime.
  void GrantNext(LockEntry& lock, Step step) {
    if (lock.contended != nullptr) GrantContended(lock, step);
  }
  void BeginTransaction(TimeMs now);
  void EndTransaction(Step step);
  // Within a transaction, returns a copy of the string that lives until the next transaction
  // begins; otherwise the string itself.
  std::string_view OutlivingTransaction(std::string_view text);

 private:
  void GrantContended(LockEntry& lock, Step step);
  // True: the lock will be considered at the end of the present transaction.
  bool Defer(LockEntry& lock);
  void GrantDeferred(ContendedLock& contended, Step step);
  // Call this when the queue has been served. REQUIRES: `lock.contended`.
  void EmitIfVacated(LockEntry& lock, TimeMs now);
  void GrantEnqueued(const LockEntry& own, Step step);
  void GrantOrDefer(LockEntry& lock, Step step);
  void GrantQueue(LockEntry& lock, Step step);
  void GrantOrReserve(Claim& place, Step step);

  TransactionList deferred_;       // to be considered at the end of the transaction
  std::deque<std::string> texts_;  // the copies made in the present transaction
};

}  // namespace fairlock::engine
