#include "server/engine/lock_core.h"

namespace fairlock::engine {

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
    Pending& request = RequestOf(place);
    if (request.attachment != nullptr) {
      request.attachment->pending.erase(request.attachment->pending.iterator_to(request));
      request.attachment = nullptr;
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
