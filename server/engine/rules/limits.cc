#include "server/engine/rules/limits.h"

#include <utility>

namespace fairlock::engine {

bool Limits::Set(LimitOverride row, TimeMs now) {
  EndDue(now);
  const bool is_new = !state_.overrides.Has(row.db, row.pattern);
  if (is_new && state_.overrides.size() >= state_.options.limit_overrides_max) return false;
  state_.overrides.Set(std::move(row));
  CountChange();
  return true;
}

bool Limits::Drop(std::uint8_t db, std::string_view pattern, TimeMs now) {
  EndDue(now);
  if (!state_.overrides.Drop(db, pattern)) return false;
  CountChange();
  return true;
}

const LimitOverrides& Limits::Overrides(TimeMs now) {
  EndDue(now);
  return state_.overrides;
}

void Limits::DropEnded(TimeMs now) {
  state_.overrides.DropEnded(LastTickBefore(now));
  CountChange();
}

void Limits::CountChange() {
  if (state_.changes != nullptr) state_.changes->have_limits_changed = true;
  ++state_.limit_changes;
  state_.may_be_unseen = true;
}

bool Limits::HasSlotUnderOverrides(const LockEntry& lock, const Mode& mode) const {
  if (lock.contended != nullptr) return HasSlotIn(lock.contended->slots, lock, mode);
  if (!lock.has_plain_hold()) return !IsDrained(lock.key());
  if (!lock.plain.mode().is_limit_given) return false;
  Slots slots;
  slots.Take(lock.plain.mode());
  return HasSlotIn(slots, lock, mode);
}

bool Limits::HasSlotIn(const Slots& slots, const LockEntry& lock, const Mode& mode) const {
  const std::optional<std::uint32_t> limit = LimitOf(lock.key());
  return limit ? slots.HasSlotFor(mode, *limit) : slots.HasSlotFor(mode);
}

}  // namespace fairlock::engine
