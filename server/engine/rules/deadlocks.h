// Deadlocks: a request that would wait forever, because every owner in its way also waits, is
// refused at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "server/engine/api/requests.h"
#include "server/engine/rules/deadlock_search.h"
#include "server/engine/rules/rule.h"

namespace fairlock::engine {

class Deadlocks : Rule {
 public:
  using Rule::Rule;

  // The reason for the last refusal.
  const Deadlock& deadlock() const { return deadlock_; }
  // How many places and holds all searches have examined.
  std::uint64_t searched() const { return searched_; }
  // Until the next call with false, all searches together examine as many places and holds as one.
  void set_sharing(bool is_sharing);
  // Whether the wait would never end; if so, deadlock() says why.
  bool IsDeadlock(const WaitQuestion& question, TimeMs now);
  // False: nothing on that key can block a new request forever. O(holders); examines at most
  // `deadlock_search` of them.
  bool MayNeverHaveSlot(const LockEntry& lock);
  // With REPLACE, the place `leaving` ends before the request waits.
  bool IsDeadlockOfNewcomer(const LockEntry& lock, const LockRequest& request, const Claim* leaving,
                            TimeMs now);
  bool IsDeadlockOfPlace(const Claim& place, const Mode& mode, TimeMs now);
  LockResult RefuseDeadlock(const LockEntry& lock, const LockRequest& request, ClientRef client,
                            TimeMs now);

 private:
  Deadlock deadlock_;
  std::uint64_t searched_ = 0;
  std::optional<std::size_t> shared_steps_left_;
};

}  // namespace fairlock::engine
