#include "server/engine/state/multi_lock.h"

#include <algorithm>
#include <cassert>

namespace fairlock::engine {

MultiLock::MultiLock(std::span<const KeyName> its_keys)
    : TimerNode(TimerKind::kMultiLock, true), Pending(PendingKind::kMultiLock) {
  assert(!its_keys.empty() && its_keys.size() <= kMlockKeysMax);
  claims.reserve(its_keys.size());
  keys_.reserve(its_keys.size());
  for (const KeyName& key : its_keys) keys_.emplace_back(key.bytes);
  std::sort(keys_.begin(), keys_.end());
}

bool MultiLock::IsOf(std::span<const KeyName> others) const {
  return others.size() == keys_.size() &&
         std::all_of(others.begin(), others.end(), [&](const KeyName& other) {
           return std::binary_search(keys_.begin(), keys_.end(), other.bytes);
         });
}

}  // namespace fairlock::engine
