#include "server/engine/lock_core.h"

#include <cassert>

namespace fairlock::engine {

LockCore::LockCore(const EngineOptions& options)
    : options_(options), table_(options.hash_seed), next_token_(options.first_token) {
  assert(next_token_ > 0);
}

LockCore::~LockCore() {
  std::vector<LockEntry*> locks;
  for (std::uint64_t cursor = 0;;) {
    cursor = table_.ScanGroup(cursor, [&](LockEntry& lock) { locks.push_back(&lock); });
    if (cursor == 0) break;
  }
  for (LockEntry* lock : locks) {
    if (lock->detail != nullptr) DropMembers(*lock->detail);
  }
}

void LockCore::DropMembers(LockDetail& detail) {
  while (!detail.watchers.empty()) DestroyWatcher(detail.watchers.front());
  while (!detail.cooling.empty()) EndCooling(detail.cooling.front());
  while (!detail.line.empty()) {
    Claim& place = detail.line.front();
    if (place.attachment != nullptr) {
      place.attachment->pending.erase(place.attachment->pending.iterator_to(place));
      place.attachment = nullptr;
    }
    LeaveLine(place);
    DestroyClaim(place);
  }
  while (!detail.holds.empty()) {
    Claim& hold = detail.holds.front();
    Unbind(hold);
    detail.holds.pop_front();
    DestroyClaim(hold);
  }
}

}  // namespace fairlock::engine
