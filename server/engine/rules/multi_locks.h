// MLOCK, MRENEW and MUNLOCK: all keys are granted together or not at all. Afterwards each key has a
// hold of its own under the common token.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "server/engine/api/requests.h"
#include "server/engine/api/step.h"
#include "server/engine/rules/bounds.h"
#include "server/engine/rules/claims.h"
#include "server/engine/rules/deadlocks.h"
#include "server/engine/rules/events.h"
#include "server/engine/rules/expiry.h"
#include "server/engine/rules/full_queues.h"
#include "server/engine/rules/grants.h"
#include "server/engine/rules/holds.h"
#include "server/engine/rules/limits.h"
#include "server/engine/rules/places.h"
#include "server/engine/rules/releases.h"
#include "server/engine/rules/renewals.h"
#include "server/engine/rules/repeated_holds.h"
#include "server/engine/rules/repeated_requests.h"
#include "server/engine/rules/turns.h"
#include "server/engine/rules/wait_queue.h"
#include "server/engine/state/engine_state.h"
#include "server/engine/state/multi_lock.h"

namespace fairlock::engine {

// Loop-confined.
class MultiLocks {
 public:
  MultiLocks(EngineState& state, Events& events, Bounds& bounds, const Claims& claims, Holds& holds,
             const Limits& limits, const Turns& turns, WaitQueue& wait_queue, Places& places,
             Grants& grants, Expiry& expiry, Deadlocks& deadlocks, FullQueues& full_queues,
             RepeatedHolds& repeated_holds, RepeatedRequests& repeated_requests, Releases& releases,
             Renewals& renewals)
      : state_(state),
        events_(events),
        bounds_(bounds),
        claims_(claims),
        holds_(holds),
        limits_(limits),
        turns_(turns),
        wait_queue_(wait_queue),
        places_(places),
        grants_(grants),
        expiry_(expiry),
        deadlocks_(deadlocks),
        full_queues_(full_queues),
        repeated_holds_(repeated_holds),
        repeated_requests_(repeated_requests),
        releases_(releases),
        renewals_(renewals) {}

  LockResult Lock(const MlockRequest& request, Attachment& from, Step step);
  bool Renew(const MrenewRequest& request, Step step);
  std::size_t Unlock(const MunlockRequest& request, Step step);

 private:
  struct NamedLock {
    KeyName name;
    LockEntry* lock = nullptr;  // null: the key has no lock
  };
  // The claims that the owner has on the keys.
  struct Stake {
    MultiLock* multi_lock = nullptr;     // null: it has none on exactly these keys
    std::optional<std::size_t> other{};  // the first key on which it has something else
  };
  void FindNamed(std::span<const KeyName> keys, Step step);
  void FindNamedAgain();
  // Discards the named locks that are empty.
  void DiscardNamed();
  void DropMarks(std::string_view owner);
  Stake FindStake(std::span<const KeyName> keys, std::string_view owner);
  LockResult ReacquireAll(const MultiLock& multi_lock, const MlockRequest& request,
                          Attachment& from, TimeMs now);
  LockResult RepeatWaitingAll(const MultiLock& multi_lock, const MlockRequest& request,
                              Attachment& from, Step step);
  void ReleaseAll(const MultiLock& multi_lock, Step step);
  LockResult AskAllAnew(const MlockRequest& request, Attachment& from, Step step);
  LockResult AskOrJoin(const MlockRequest& request, Attachment& from, Step step);
  std::size_t CountMissing() const;
  void NeedLock(NamedLock& named);
  // Creates the locks of drained keys, because a denial for a drain needs a lock to refer to.
  void NeedDrainedLocks();
  // The first key that a new request cannot get now; none: it can get all keys.
  std::optional<std::size_t> FindBlockedKey(const Mode& mode) const;
  // The first key whose queue is full and has no place that REPLACE could end.
  std::optional<std::size_t> FindFullQueue(const LockRequest& request) const;
  LockResult GrantAllAtOnce(const MlockRequest& request, Attachment& from, TimeMs now);
  void ReplaceNewestOfFullQueues(const LockRequest& request, Step step);
  LockResult DenyAll(const MlockRequest& request, ClientRef client, std::size_t key,
                     DenialReason reason, TimeMs now);
  MultiLock& MakeClaims(const MlockRequest& request, ClientRef client);
  void ShareMeta(const MultiLock& multi_lock);
  // `is_replacing`: the newest places of full queues end before the request waits.
  bool IsDeadlockOfMlock(const LockRequest& each, bool is_replacing, TimeMs now);
  LockResult RefuseDeadlockOfMlock(std::size_t key, const LockRequest& each, ClientRef client,
                                   TimeMs now);

  EngineState& state_;
  Events& events_;
  Bounds& bounds_;
  Claims claims_;
  Holds& holds_;
  Limits limits_;
  Turns turns_;
  WaitQueue& wait_queue_;
  Places& places_;
  Grants& grants_;
  Expiry& expiry_;
  Deadlocks& deadlocks_;
  FullQueues& full_queues_;
  RepeatedHolds& repeated_holds_;
  RepeatedRequests& repeated_requests_;
  Releases& releases_;
  Renewals& renewals_;
  std::vector<NamedLock> named_;  // the locks that the present request names, in its order
};

}  // namespace fairlock::engine
