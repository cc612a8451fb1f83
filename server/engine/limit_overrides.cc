#include "server/engine/limit_overrides.h"

#include <algorithm>
#include <utility>

#include "server/engine/faults.h"
#include "server/engine/glob.h"

namespace fairlock::engine {

namespace {

bool IsMoreSpecific(const LimitOverride& one, const LimitOverride& other) {
  const GlobShape shape = ShapeOf(one.pattern);
  const GlobShape other_shape = ShapeOf(other.pattern);
  if (shape.is_exact != other_shape.is_exact) return shape.is_exact;
  return shape.literal_bytes > other_shape.literal_bytes;
}

auto IsOf(std::uint8_t db, std::string_view pattern) {
  return [=](const LimitOverride& row) { return row.db == db && row.pattern == pattern; };
}

}  // namespace

bool LimitOverrides::Has(std::uint8_t db, std::string_view pattern) const {
  return std::any_of(rows_.begin(), rows_.end(), IsOf(db, pattern));
}

void LimitOverrides::DrainAllUntil(TimeMs end) {
  all_drained_until_ = end;
  Sum();
}

std::optional<std::uint32_t> LimitOverrides::Find(const KeyName& key) const {
  if (are_all_drained()) return 0;
  for (const LimitOverride& row : rows_) {
    if (row.db == key.db && MatchesGlob(row.pattern, key.bytes)) return row.limit;
  }
  return std::nullopt;
}

void LimitOverrides::Set(LimitOverride row) {
  std::erase_if(rows_, IsOf(row.db, row.pattern));
  // The newest goes before those that are as specific.
  const auto behind = std::find_if(rows_.begin(), rows_.end(), [&](const LimitOverride& other) {
    return IsFaulty(Fault::kOverrideOldestWins) ? IsMoreSpecific(row, other)
                                                : !IsMoreSpecific(other, row);
  });
  rows_.insert(behind, std::move(row));
  Sum();
}

bool LimitOverrides::Drop(std::uint8_t db, std::string_view pattern) {
  const bool was_there = std::erase_if(rows_, IsOf(db, pattern)) > 0;
  Sum();
  return was_there;
}

void LimitOverrides::DropEnded(TimeMs last_tick) {
  std::erase_if(rows_, [&](const LimitOverride& row) { return row.end <= last_tick; });
  if (all_drained_until_ <= last_tick) all_drained_until_ = 0;
  Sum();
}

void LimitOverrides::Sum() {
  is_any_ = !rows_.empty() || are_all_drained();
  next_end_ = are_all_drained() ? all_drained_until_ : kNever;
  if (IsFaulty(Fault::kOverrideStays)) return;
  for (const LimitOverride& row : rows_) next_end_ = std::min(next_end_, row.end);
}

}  // namespace fairlock::engine
