// All rules of the engine, each with the rules that it uses.
#pragma once

#include "server/engine/rules/answers.h"
#include "server/engine/rules/bounds.h"
#include "server/engine/rules/claims.h"
#include "server/engine/rules/cooldowns.h"
#include "server/engine/rules/deadlocks.h"
#include "server/engine/rules/departures.h"
#include "server/engine/rules/events.h"
#include "server/engine/rules/expiry.h"
#include "server/engine/rules/full_queues.h"
#include "server/engine/rules/grants.h"
#include "server/engine/rules/holds.h"
#include "server/engine/rules/inspections.h"
#include "server/engine/rules/invariants.h"
#include "server/engine/rules/limits.h"
#include "server/engine/rules/lock_requests.h"
#include "server/engine/rules/multi_locks.h"
#include "server/engine/rules/notifications.h"
#include "server/engine/rules/places.h"
#include "server/engine/rules/redis_view.h"
#include "server/engine/rules/releases.h"
#include "server/engine/rules/renewals.h"
#include "server/engine/rules/repeated_holds.h"
#include "server/engine/rules/repeated_requests.h"
#include "server/engine/rules/restoration.h"
#include "server/engine/rules/sessions.h"
#include "server/engine/rules/snapshots.h"
#include "server/engine/rules/transfers.h"
#include "server/engine/rules/turns.h"
#include "server/engine/rules/value_places.h"
#include "server/engine/rules/wait_queue.h"
#include "server/engine/rules/wait_requests.h"
#include "server/engine/rules/watchers.h"

namespace fairlock::engine {

// Each rule comes after those that it uses. Claims, Cooldowns, Limits and Turns have no state of
// their own, so the rules that use them have copies of them, which saves an indirection.
// Loop-confined.
struct EngineRules {
  explicit EngineRules(EngineState& engine_state);
  EngineRules(const EngineRules&) = delete;
  EngineRules& operator=(const EngineRules&) = delete;
  // Frees the claims, watchers and cooldowns of all locks, and unlinks them from their connections.
  ~EngineRules();
  void DropMembers(ContendedLock& contended);

  EngineState& state;
  Events events;
  Bounds bounds;
  Claims claims;
  Cooldowns cooldowns;
  Holds holds;
  Limits limits;
  Turns turns;
  WaitQueue wait_queue;
  Places places;
  Answers answers;
  Watchers watchers;
  Grants grants;
  Expiry expiry;
  Sessions sessions;
  Deadlocks deadlocks;
  FullQueues full_queues;
  RepeatedHolds repeated_holds;
  RepeatedRequests repeated_requests;
  ValuePlaces value_places;
  LockRequests lock_requests;
  WaitRequests wait_requests;
  Releases releases;
  Departures departures;
  Renewals renewals;
  Transfers transfers;
  MultiLocks multi_locks;
  Notifications notifications;
  Inspections inspections;
  Snapshots snapshots;
  Restoration restoration;
  RedisView redis_view;
  Invariants invariants;
};

}  // namespace fairlock::engine
