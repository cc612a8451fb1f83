// Overrides of LIMIT: their begin and end, and how the lines learn of it.

#include <cassert>
#include <utility>

#include "server/engine/lock_core.h"

namespace fairlock::engine {

bool LockCore::SetLimit(LimitOverride row, TimeMs now) {
  EndOverrides(now);
  const bool is_new = !overrides_.Has(row.db, row.pattern);
  if (is_new && overrides_.size() >= options_.limit_overrides_max) return false;
  overrides_.Set(std::move(row));
  NoteLimitChange();
  return true;
}

bool LockCore::DropLimit(std::uint8_t db, std::string_view pattern, TimeMs now) {
  EndOverrides(now);
  if (!overrides_.Drop(db, pattern)) return false;
  NoteLimitChange();
  return true;
}

const LimitOverrides& LockCore::Limits(TimeMs now) {
  EndOverrides(now);
  return overrides_;
}

void LockCore::DropEndedOverrides(TimeMs now) {
  overrides_.DropEnded(LastTickBefore(now));
  NoteLimitChange();
}

void LockCore::NoteLimitChange() {
  if (changes_ != nullptr) changes_->have_limits_changed = true;
  ++limit_changes_;
}

bool LockCore::HasRoomUnderOverrides(const LockEntry& lock, const Mode& mode) const {
  if (lock.detail != nullptr) return HasRoomIn(lock.detail->rooms, lock, mode);
  if (!lock.has_plain_hold()) return !IsDrained(lock.key());
  if (!lock.plain.mode().is_limit_given) return false;
  Rooms rooms;
  rooms.Take(lock.plain.mode());
  return HasRoomIn(rooms, lock, mode);
}

bool LockCore::HasRoomIn(const Rooms& rooms, const LockEntry& lock, const Mode& mode) const {
  const std::optional<std::uint32_t> limit = LimitOf(lock.key());
  return limit ? rooms.HasRoomFor(mode, *limit) : rooms.HasRoomFor(mode);
}

void LockCore::LookAgain(LockEntry& lock, TimeMs now, Effects& effects) {
  LockDetail& detail = *lock.detail;
  detail.seen_changes = limit_changes_;
  lines_.erase(lines_.iterator_to(detail));
  AppendLine(detail);
  Serve(lock, now, effects);
}

bool LockCore::LookAtLines(TimeMs now, std::size_t lines_max, Effects& effects) {
  for (; IsAnyLineUnseen(); --lines_max) {
    if (lines_max == 0) return true;
    LockEntry& lock = lines_.begin()->line.front().lock;
    Settle(table_.HashOf(lock.key()), lock, now, effects);
  }
  return false;
}

}  // namespace fairlock::engine
