// LOCK: granted at once if the lock is free and nobody is ahead; otherwise the request waits, keeps
// a place, or is denied with the reason.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/engine/api/effects.h"
#include "server/engine/api/requests.h"
#include "server/engine/rules/rule.h"

namespace fairlock::engine {

class LockRequests : Rule {
 public:
  using Rule::Rule;

  LockResult Lock(const LockRequest& request, Attachment& from, Step step);
  LockResult GrantAtOnce(std::uint64_t hash, LockEntry& lock, const LockRequest& request,
                         Attachment& from, TimeMs now);

 private:
  LockResult GrantNewLock(std::uint64_t hash, const LockRequest& request, Attachment& from,
                          TimeMs now);
  LockResult AskDrained(std::uint64_t hash, const LockRequest& request, Attachment& from,
                        Step step);
  LockResult AskAnew(std::uint64_t hash, LockEntry& lock, const LockRequest& request,
                     Attachment& from, Step step);
};

// MAXWAITERS and REPLACE: a request is denied if the queue already has as many active places as the
// request's MAXWAITERS; with REPLACE, the newest of these places ends instead.
class FullQueues : Rule {
 public:
  using Rule::Rule;

  static bool IsFull(const LockEntry& lock, const LockRequest& request);
  static Claim& NewestOf(LockEntry& lock);
  void ReplaceNewest(LockEntry& lock, std::string_view by, Step step);
};

}  // namespace fairlock::engine
