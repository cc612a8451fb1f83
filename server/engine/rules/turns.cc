#include <algorithm>
#include <utility>

#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

bool Turns::IsActiveAhead(const LockEntry& lock, std::uint64_t number) {
  // Places with a reserved slot are ahead, but need no further slot, so they do not delay the
  // places after them.
  for (const Claim& place : lock.contended->active) {
    if (place.number >= number) return false;
    if (!place.is_reserved) return true;
  }
  return false;
}

Claim* Turns::FindBlocked(const EngineState& state, Claim& place, const Mode& mode) {
  const auto is_blocked = [&](const Claim& claim) {
    // At the time of a deadline before the transaction, the slots that it freed were still taken.
    if (state.is_in_past && claim.lock.contended->is_deferred()) return true;
    return IsAnyoneAhead(claim.lock, claim.number) || !Limits::HasSlot(state, claim.lock, mode);
  };
  MultiLock* multi_lock = place.multi_lock();
  if (multi_lock == nullptr) return is_blocked(place) ? &place : nullptr;
  const auto found = std::find_if(multi_lock->claims.begin(), multi_lock->claims.end(),
                                  [&](const Claim* claim) { return is_blocked(*claim); });
  return found == multi_lock->claims.end() ? nullptr : *found;
}

DenialReason Turns::ReasonFor(const EngineState& state, const LockEntry& lock, const Mode& mode) {
  if (Limits::IsDrained(state, lock.key())) {
    return state.overrides.are_all_drained() ? DenialReason::kStarting : DenialReason::kDrained;
  }
  if (Limits::HasSlot(state, lock, mode)) return DenialReason::kLine;
  if (lock.contended != nullptr &&
      (lock.contended->reserved > 0 || !lock.contended->cooldowns.empty())) {
    Slots slots;
    if (lock.has_plain_hold()) slots.Take(lock.plain.mode());
    for (const Claim& hold : lock.contended->holds) slots.Take(hold.mode);
    if (Limits::HasSlotIn(state, slots, lock, mode)) {
      for (const Claim& place : lock.contended->active) {
        if (place.is_reserved) slots.Take(place.mode);
      }
      return Limits::HasSlotIn(state, slots, lock, mode) ? DenialReason::kCooling
                                                         : DenialReason::kReserved;
    }
  }
  const bool are_holders_shared =
      lock.contended != nullptr && lock.contended->slots.taken_shared() > 0;
  return are_holders_shared != mode.is_shared ? DenialReason::kShared : DenialReason::kHeld;
}

bool Limits::Set(LimitOverride row, TimeMs now) {
  EndDue(state_, now);
  const bool is_new = !state_.overrides.Has(row.db, row.pattern);
  if (is_new && state_.overrides.size() >= state_.options.limit_overrides_max) return false;
  state_.overrides.Set(std::move(row));
  CountChange(state_);
  return true;
}

bool Limits::Drop(std::uint8_t db, std::string_view pattern, TimeMs now) {
  EndDue(state_, now);
  if (!state_.overrides.Drop(db, pattern)) return false;
  CountChange(state_);
  return true;
}

void Limits::DelayGrantsUntil(TimeMs end) {
  state_.overrides.DrainAllUntil(end);
  CountChange(state_);
}

const LimitOverrides& Limits::Overrides(TimeMs now) {
  EndDue(state_, now);
  return state_.overrides;
}

void Limits::DropEnded(EngineState& state, TimeMs now) {
  state.overrides.DropEnded(LastTickBefore(now));
  CountChange(state);
}

void Limits::CountChange(EngineState& state) {
  if (state.changes != nullptr) state.changes->have_limits_changed = true;
  ++state.limit_changes;
  state.may_be_unseen = true;
}

bool Limits::HasSlotUnderOverrides(const EngineState& state, const LockEntry& lock,
                                   const Mode& mode) {
  if (lock.contended != nullptr) return HasSlotIn(state, lock.contended->slots, lock, mode);
  if (!lock.has_plain_hold()) return !IsDrained(state, lock.key());
  if (!lock.plain.mode().is_limit_given) return false;
  Slots slots;
  slots.Take(lock.plain.mode());
  return HasSlotIn(state, slots, lock, mode);
}

bool Limits::HasSlotIn(const EngineState& state, const Slots& slots, const LockEntry& lock,
                       const Mode& mode) {
  const std::optional<std::uint32_t> limit = LimitOf(state, lock.key());
  return limit ? slots.HasSlotFor(mode, *limit) : slots.HasSlotFor(mode);
}

}  // namespace fairlock::engine
