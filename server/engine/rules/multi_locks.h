// MLOCK, MRENEW and MUNLOCK: all keys are granted together or not at all. Afterwards each key has a
// hold of its own under the common token.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "server/engine/api/effects.h"
#include "server/engine/api/requests.h"
#include "server/engine/rules/rule.h"
#include "server/engine/state/multi_lock.h"

namespace fairlock::engine {

class MultiLocks : Rule {
 public:
  using Rule::Rule;

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

  std::vector<NamedLock> named_;  // the locks that the present request names, in its order
};

}  // namespace fairlock::engine
