#include "server/engine/state/limit_overrides.h"

#include <algorithm>
#include <utility>

namespace fairlock::engine {

namespace {

bool IsMoreSpecific(const Glob& one, const Glob& other) {
  if (one.is_exact() != other.is_exact()) return one.is_exact();
  return one.literal_bytes() > other.literal_bytes();
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
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].db == key.db && globs_[i].Matches(key.bytes)) return rows_[i].limit;
  }
  return std::nullopt;
}

void LimitOverrides::Set(LimitOverride row) {
  std::erase_if(rows_, IsOf(row.db, row.pattern));
  Sum();
  const Glob glob(row.pattern);
  // The new override goes before those that are equally specific.
  const auto after = std::find_if(globs_.begin(), globs_.end(),
                                  [&](const Glob& other) { return !IsMoreSpecific(other, glob); });
  rows_.insert(rows_.begin() + (after - globs_.begin()), std::move(row));
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

std::uint64_t LimitOverrides::CostMax() const {
  std::uint64_t cost = 0;
  for (const Glob& glob : globs_) cost += glob.CostMax(kKeyBytesMax);
  return cost;
}

void LimitOverrides::Sum() {
  globs_.clear();
  for (const LimitOverride& row : rows_) globs_.emplace_back(row.pattern);
  is_any_ = !rows_.empty() || are_all_drained();
  next_end_ = are_all_drained() ? all_drained_until_ : kNever;
  for (const LimitOverride& row : rows_) next_end_ = std::min(next_end_, row.end);
}

}  // namespace fairlock::engine
