// All rules of the engine, which call each other through this struct.
#pragma once

#include "server/engine/rules/bounds.h"
#include "server/engine/rules/claims.h"
#include "server/engine/rules/deadlocks.h"
#include "server/engine/rules/events.h"
#include "server/engine/rules/expiry.h"
#include "server/engine/rules/grants.h"
#include "server/engine/rules/holds.h"
#include "server/engine/rules/inspections.h"
#include "server/engine/rules/invariants.h"
#include "server/engine/rules/lock_requests.h"
#include "server/engine/rules/multi_locks.h"
#include "server/engine/rules/notifications.h"
#include "server/engine/rules/places.h"
#include "server/engine/rules/redis_view.h"
#include "server/engine/rules/releases.h"
#include "server/engine/rules/renewals.h"
#include "server/engine/rules/repeated_requests.h"
#include "server/engine/rules/restoration.h"
#include "server/engine/rules/sessions.h"
#include "server/engine/rules/snapshots.h"
#include "server/engine/rules/transfers.h"
#include "server/engine/rules/turns.h"
#include "server/engine/rules/wait_queue.h"
#include "server/engine/rules/watchers.h"

namespace fairlock::engine {

// Claims, Cooldowns and Turns are not among them: they have no state of their own, so their
// functions take the state of the engine.
struct EngineRules {
  explicit EngineRules(EngineState& engine_state);
  EngineRules(const EngineRules&) = delete;
  EngineRules& operator=(const EngineRules&) = delete;
  // Frees the claims, watchers and cooldowns of all locks, and unlinks them from their connections.
  ~EngineRules();
  void DropMembers(ContendedLock& contended);

  EngineState& state;
  Events events{state, *this};
  Answers answers{state, *this};
  Bounds bounds{state, *this};
  Holds holds{state, *this};
  Limits limits{state, *this};
  WaitQueue wait_queue{state, *this};
  Places places{state, *this};
  ValuePlaces value_places{state, *this};
  Watchers watchers{state, *this};
  Grants grants{state, *this};
  Expiry expiry{state, *this};
  Sessions sessions{state, *this};
  Deadlocks deadlocks{state, *this};
  FullQueues full_queues{state, *this};
  RepeatedHolds repeated_holds{state, *this};
  RepeatedRequests repeated_requests{state, *this};
  LockRequests lock_requests{state, *this};
  Releases releases{state, *this};
  Departures departures{state, *this};
  Renewals renewals{state, *this};
  Transfers transfers{state, *this};
  MultiLocks multi_locks{state, *this};
  Notifications notifications{state, *this};
  Inspections inspections{state, *this};
  Snapshots snapshots{state, *this};
  Restoration restoration{state, *this};
  RedisView redis_view{state, *this};
  Invariants invariants{state, *this};
};

}  // namespace fairlock::engine
