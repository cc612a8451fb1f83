// Bounds: the numbers of locks, places and claims have configured limits. While memory or disk
// space is short, nothing new is granted or queued; present holds and places continue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "server/engine/api/requests.h"
#include "server/engine/rules/rule.h"

namespace fairlock::engine {

class Bounds : Rule {
 public:
  using Rule::Rule;

  // While memory is short, nothing is granted or queued that would need memory.
  void set_short_of_memory(bool is_short);
  // While disk space is short, no new holds or places are accepted.
  void set_short_of_space(bool is_short);
  // While set, nothing is refused because of these bounds: a step that has changed something may
  // exceed them by what else it does.
  void set_lifted(bool is_lifted);
  // The reason why the client may not have that many more holds or places; none: it may.
  std::optional<LockStatus> WhyNotMore(ClientRef client, std::size_t claims = 1) const;
  // The reason why the client may not have a hold on a lock that is not in the table yet; none: it
  // may.
  std::optional<LockStatus> WhyNoNewLock(ClientRef client) const {
    if (state_.counts.locks < locks_bound_ &&
        state_.clients.CountClaims(client) < state_.options.claims_per_client_max) {
      return std::nullopt;
    }
    return WhyNoLockIsMade(client);
  }
  // The reason why that many locks may not be added to the table; none: they may.
  std::optional<LockStatus> WhyNoNewLocks(std::size_t locks) const;
  bool IsQueueAtBound(const LockEntry& lock, std::uint64_t bound) const;
  // True if memory is short and the repeated request has options for which its hold or place would
  // need more memory.
  bool BringsTooMuch(const Hold& present, const LockRequest& request) const;
  bool is_short_of_memory() const { return is_short_of_memory_ && !is_lifted_; }
  bool takes_nothing_new() const {
    return (is_short_of_memory_ || is_short_of_space_) && !is_lifted_;
  }

 private:
  std::optional<LockStatus> WhyNoLockIsMade(ClientRef client) const;
  void ChooseLocksBound();

  std::uint64_t locks_bound_ = state_.options.locks_max;  // 0 while nothing new is accepted
  bool is_lifted_ = false;
  bool is_short_of_memory_ = false;
  bool is_short_of_space_ = false;
};

}  // namespace fairlock::engine
