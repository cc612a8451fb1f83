// Whose turn it is: the limits on the holders of a lock, and the order of its queue.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/engine/rules/rule.h"
#include "server/engine/state/multi_lock.h"

namespace fairlock::engine {

// LIMIT and SHARED: a request gets a slot if the number of slots taken stays within its own LIMIT
// and within that of every other holder, or if all holders are SHARED. An operator's override
// replaces the LIMITs of clients; an override of 0 drains the key.
//
// The functions that look at the state are static, because most requests run through them.
class Limits : Rule {
 public:
  using Rule::Rule;

  // Adds an override, or restores a stored one after a restart. It replaces an earlier one with the
  // same pattern. The queues are reconsidered by Advance, or each by the next request that names
  // its key. False: there are too many overrides.
  [[nodiscard]] bool Set(LimitOverride row, TimeMs now);
  // Returns whether there was such an override.
  bool Drop(std::uint8_t db, std::string_view pattern, TimeMs now);
  // The overrides in force.
  const LimitOverrides& Overrides(TimeMs now);
  // Drains all keys until then: no new owner is admitted.
  void DelayGrantsUntil(TimeMs end);

  static void EndDue(EngineState& state, TimeMs now) {
    if (state.overrides.next_end() < now) DropEnded(state, now);
  }
  static std::optional<std::uint32_t> LimitOf(const EngineState& state, const KeyName& key) {
    return state.overrides.empty() ? std::nullopt : state.overrides.Find(key);
  }
  static bool IsDrained(const EngineState& state, const KeyName& key) {
    return !state.overrides.empty() && state.overrides.Find(key) == 0U;
  }
  // Whether a request of that mode would get a slot now.
  static bool HasSlot(const EngineState& state, const LockEntry& lock, const Mode& mode) {
    if (!state.overrides.empty()) return HasSlotUnderOverrides(state, lock, mode);
    if (lock.contended != nullptr) return lock.contended->slots.HasSlotFor(mode);
    return !lock.has_plain_hold();
  }
  // The same, but as if `slots` were the slots taken.
  static bool HasSlotIn(const EngineState& state, const Slots& slots, const LockEntry& lock,
                        const Mode& mode);
  static bool IsSeen(const EngineState& state, const ContendedLock& contended) {
    return contended.seen_changes == state.limit_changes;
  }
  static bool IsAnyQueueUnseen(const EngineState& state) {
    return state.may_be_unseen && !state.queues.empty() && !IsSeen(state, *state.queues.begin());
  }

 private:
  static void DropEnded(EngineState& state, TimeMs now);
  static void CountChange(EngineState& state);
  static bool HasSlotUnderOverrides(const EngineState& state, const LockEntry& lock,
                                    const Mode& mode);
};

// Fairness: a request is granted only when no active place is ahead of it in the queue and a slot
// is free; an MLOCK only when both are true on all its keys. It has no state of its own.
class Turns {
 public:
  // Whether an active place with a lower number needs a slot.
  static bool IsAnyoneAhead(const LockEntry& lock, std::uint64_t number) {
    return lock.contended != nullptr && IsActiveAhead(lock, number);
  }
  // The first claim of the place that is not at the head of its queue, or for which no slot is
  // free; null: the turn of the place has come.
  static Claim* FindBlocked(const EngineState& state, Claim& place, const Mode& mode);
  static DenialReason ReasonFor(const EngineState& state, const LockEntry& lock, const Mode& mode);
  // Whether a new request of that mode would be granted at once.
  static bool MayPass(const EngineState& state, const LockEntry& lock, const Mode& mode) {
    return !IsAnyoneAhead(lock, ~std::uint64_t{0}) && Limits::HasSlot(state, lock, mode);
  }

 private:
  // REQUIRES: the lock is contended.
  static bool IsActiveAhead(const LockEntry& lock, std::uint64_t number);
};

}  // namespace fairlock::engine
