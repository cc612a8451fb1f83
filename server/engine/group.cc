#include "server/engine/group.h"

#include <algorithm>
#include <cassert>

namespace fairlock::engine {

Group::Group(std::span<const KeyName> its_keys)
    : TimerNode(TimerKind::kGroup, true), Pending(PendingKind::kGroup) {
  assert(!its_keys.empty() && its_keys.size() <= kMlockKeysMax);
  claims.reserve(its_keys.size());
  keys_.reserve(its_keys.size());
  for (const KeyName& key : its_keys) keys_.emplace_back(key.bytes);
  std::sort(keys_.begin(), keys_.end());
}

bool Group::IsOf(std::span<const KeyName> others) const {
  return others.size() == keys_.size() &&
         std::all_of(others.begin(), others.end(), [&](const KeyName& other) {
           return std::binary_search(keys_.begin(), keys_.end(), other.bytes);
         });
}

}  // namespace fairlock::engine
