// LIMIT and SHARED: a request gets a slot if the number of slots taken stays within its own LIMIT
// and within that of every other holder, or if all holders are SHARED. An operator's override
// replaces the LIMITs of clients; an override of 0 drains the key.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/engine/state/engine_state.h"

namespace fairlock::engine {

// Loop-confined.
class Limits {
 public:
  explicit Limits(EngineState& state) : state_(state) {}

  // Adds an override, or restores a stored one after a restart. It replaces an earlier one with the
  // same pattern. The queues are reconsidered by Advance, or each by the next request that names
  // its key. False: there are too many overrides.
  [[nodiscard]] bool Set(LimitOverride row, TimeMs now);
  // Returns whether there was such an override.
  bool Drop(std::uint8_t db, std::string_view pattern, TimeMs now);
  // The overrides in force.
  const LimitOverrides& Overrides(TimeMs now);
  // Drains all keys until then: no new owner is admitted.
  void DelayGrantsUntil(TimeMs end) {
    state_.overrides.DrainAllUntil(end);
    CountChange();
  }
  void EndDue(TimeMs now) {
    if (state_.overrides.next_end() < now) DropEnded(now);
  }
  std::optional<std::uint32_t> LimitOf(const KeyName& key) const {
    return state_.overrides.empty() ? std::nullopt : state_.overrides.Find(key);
  }
  bool IsDrained(const KeyName& key) const {
    return !state_.overrides.empty() && state_.overrides.Find(key) == 0U;
  }
  // Whether a request of that mode would get a slot now.
  bool HasSlot(const LockEntry& lock, const Mode& mode) const {
    if (!state_.overrides.empty()) return HasSlotUnderOverrides(lock, mode);
    if (lock.contended != nullptr) return lock.contended->slots.HasSlotFor(mode);
    return !lock.has_plain_hold();
  }
  // The same, but as if `slots` were the slots taken.
  bool HasSlotIn(const Slots& slots, const LockEntry& lock, const Mode& mode) const;
  bool IsSeen(const ContendedLock& contended) const {
    return contended.seen_changes == state_.limit_changes;
  }
  bool IsAnyQueueUnseen() const {
    return state_.may_be_unseen && !state_.queues.empty() && !IsSeen(*state_.queues.begin());
  }

 private:
  void DropEnded(TimeMs now);
  void CountChange();
  bool HasSlotUnderOverrides(const LockEntry& lock, const Mode& mode) const;

  EngineState& state_;
};

}  // namespace fairlock::engine
