#include "server/engine/rules/engine_rules.h"

#include <vector>

namespace fairlock::engine {

EngineRules::EngineRules(EngineState& engine_state)
    : state(engine_state),
      events(state),
      bounds(state),
      claims(state),
      cooldowns(state),
      holds(state, events, claims, cooldowns),
      limits(state),
      turns(state, limits),
      wait_queue(state, claims),
      places(state, events, claims, holds, wait_queue),
      answers(events),
      watchers(state, answers),
      grants(state, events, claims, holds, limits, turns, wait_queue, places, answers, watchers),
      expiry(state, events, claims, cooldowns, holds, limits, wait_queue, places, answers, watchers,
             grants),
      sessions(state, claims, holds, limits, wait_queue, places, watchers, expiry),
      deadlocks(state, events),
      full_queues(events, wait_queue, answers, grants),
      repeated_holds(state, events, claims, holds),
      repeated_requests(state, events, bounds, claims, turns, wait_queue, places, answers, grants,
                        deadlocks),
      value_places(state, events, bounds, claims, turns, places, repeated_requests),
      lock_requests(state, events, bounds, claims, holds, limits, turns, places, expiry, deadlocks,
                    full_queues, repeated_holds, repeated_requests, value_places),
      wait_requests(state, bounds, expiry),
      releases(state, events, claims, cooldowns, holds, wait_queue, answers, grants, expiry),
      departures(state, events, holds, expiry),
      renewals(state, events, holds, expiry),
      transfers(state, events, claims, holds, wait_queue, answers, grants, expiry, releases),
      multi_locks(state, events, bounds, claims, holds, limits, turns, wait_queue, places, grants,
                  expiry, deadlocks, full_queues, repeated_holds, repeated_requests, releases,
                  renewals),
      notifications(state, events, claims, limits, turns, wait_queue, places, answers, grants,
                    expiry, sessions, deadlocks),
      inspections(state, holds, limits, expiry),
      snapshots(state),
      restoration(state, claims, holds, wait_queue, places, grants),
      redis_view(state, events, bounds, claims, cooldowns, holds, limits, turns, wait_queue, grants,
                 expiry, lock_requests, transfers),
      invariants(state, limits, turns) {}

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
  while (!contended.cooldowns.empty()) cooldowns.End(contended.cooldowns.front());
  while (!contended.queue.empty()) {
    Claim& place = contended.queue.front();
    Pending& request = RequestOf(place);
    if (request.attachment != nullptr) {
      request.attachment->pending.erase(request.attachment->pending.iterator_to(request));
      request.attachment = nullptr;
    }
    wait_queue.Leave(place);
    claims.Destroy(place);
  }
  while (!contended.holds.empty()) {
    Claim& hold = contended.holds.front();
    holds.Unbind(hold);
    contended.holds.erase(hold);
    claims.Destroy(hold);
  }
}

}  // namespace fairlock::engine
