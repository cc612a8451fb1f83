#include "server/engine/state/slots.h"

#include <algorithm>
#include <cassert>

namespace fairlock::engine {

namespace {

bool IsBelow(const std::pair<std::uint32_t, std::uint32_t>& entry, std::uint32_t limit) {
  return entry.first < limit;
}

}  // namespace

void Slots::Take(const Mode& mode) {
  ++taken_;
  if (mode.is_shared) {
    ++taken_shared_;
    return;
  }
  if (mode.is_limit_given) ++taken_with_limit_;
  auto at = std::lower_bound(limits_.begin(), limits_.end(), mode.limit, IsBelow);
  if (at == limits_.end() || at->first != mode.limit) at = limits_.insert(at, {mode.limit, 0});
  ++at->second;
}

void Slots::Free(const Mode& mode) {
  assert(taken_ > 0);
  --taken_;
  if (mode.is_shared) {
    --taken_shared_;
    return;
  }
  if (mode.is_limit_given) --taken_with_limit_;
  const auto at = std::lower_bound(limits_.begin(), limits_.end(), mode.limit, IsBelow);
  assert(at != limits_.end() && at->first == mode.limit);
  if (--at->second == 0) limits_.erase(at);
}

bool Slots::HasSlotFor(const Mode& mode) const {
  if (taken_ == 0) return true;
  if (mode.is_shared) return taken_shared_ == taken_;
  if (taken_shared_ > 0) return false;
  if (taken_ >= mode.limit) return false;
  return taken_ < smallest_limit();
}

bool Slots::HasSlotFor(const Mode& mode, std::uint32_t limit) const {
  if (limit == 0) return false;
  if (taken_ == 0) return true;
  if (mode.is_shared) return taken_shared_ == taken_;
  if (taken_shared_ > 0) return false;
  const bool are_all_with_limit = taken_with_limit_ == taken_;
  return mode.is_limit_given && are_all_with_limit && taken_ < limit;
}

}  // namespace fairlock::engine
