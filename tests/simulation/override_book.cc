#include "tests/simulation/override_book.h"

#include <algorithm>
#include <tuple>

namespace fairlock::simulation {

int OverrideBook::Set(const Call& call, TimeMs now) {
  const auto same =
      std::ranges::find_if(rows_, [&](const Row& row) { return row.pattern == call.pattern; });
  if (same != rows_.end()) {
    rows_.erase(same);
  } else if (rows_.size() >= setting_.engine.limit_overrides_max) {
    return 1;
  }
  const TimeMs end = call.lease_ms ? After(now, *call.lease_ms) : engine::kNever;
  rows_.push_back({call.pattern, call.limit.value_or(0), end, ++newest_});
  return 0;
}

bool OverrideBook::Drop(int pattern) {
  return std::erase_if(rows_, [&](const Row& row) { return row.pattern == pattern; }) > 0;
}

bool OverrideBook::EndBy(TimeMs now) {
  return std::erase_if(rows_, [&](const Row& row) { return IsOver(row.end, now); }) > 0;
}

TimeMs OverrideBook::NextEnd() const {
  TimeMs next = engine::kNever;
  for (const Row& row : rows_) next = std::min(next, row.end);
  return next;
}

std::optional<std::uint32_t> OverrideBook::LimitOf(int key) const {
  const KeyText& text = setting_.keys[static_cast<std::size_t>(key)];
  std::optional<std::tuple<bool, std::size_t, std::uint64_t>> best;
  std::optional<std::uint32_t> limit;
  for (const Row& row : rows_) {
    const PatternText& pattern = setting_.patterns[static_cast<std::size_t>(row.pattern)];
    if (!pattern.Matches(text)) continue;
    const std::tuple rank(!pattern.has_star, pattern.literal.size(), row.number);
    if (best && rank < *best) continue;
    best = rank;
    limit = row.limit;
  }
  return limit;
}

}  // namespace fairlock::simulation
