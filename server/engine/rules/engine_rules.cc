#include "server/engine/rules/engine_rules.h"

#include <vector>

namespace fairlock::engine {

EngineRules::EngineRules(EngineState& engine_state) : state(engine_state) {}

EngineRules::~EngineRules() {
  std::vector<LockEntry*> locks;
  for (std::uint64_t cursor = 0;;) {
    cursor = state.table.ScanGroup(cursor, [&](LockEntry& lock) { locks.push_back(&lock); });
    if (cursor == 0) break;
  }
  for (LockEntry* lock : locks) {
    if (lock->contended != nullptr) DropMembers(*lock->contended);
  }
}

void EngineRules::DropMembers(ContendedLock& contended) {
  while (!contended.watchers.empty()) watchers.Destroy(contended.watchers.front());
  while (!contended.cooldowns.empty()) Cooldowns::End(state, contended.cooldowns.front());
  while (!contended.queue.empty()) {
    Claim& place = contended.queue.front();
    Pending& request = RequestOf(place);
    if (request.attachment != nullptr) {
      request.attachment->pending.erase(request.attachment->pending.iterator_to(request));
      request.attachment = nullptr;
    }
    wait_queue.Leave(place);
    Claims::Destroy(state, place);
  }
  while (!contended.holds.empty()) {
    Claim& hold = contended.holds.front();
    holds.Unbind(hold);
    contended.holds.erase(hold);
    Claims::Destroy(state, hold);
  }
}

}  // namespace fairlock::engine
