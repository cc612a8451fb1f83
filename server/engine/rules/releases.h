// UNLOCK, CANCEL and BREAK: the owner releases its hold, or gives up its place; an operator ends
// the holds of any owner. The next waiter is granted in the same step.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/engine/api/effects.h"
#include "server/engine/api/requests.h"
#include "server/engine/api/types.h"
#include "server/engine/rules/rule.h"

namespace fairlock::engine {

class Releases : Rule {
 public:
  using Rule::Rule;

  bool Unlock(const UnlockRequest& request, Step step);
  bool Cancel(const KeyName& key, std::string_view owner, Step step);
  BreakResult Break(const KeyName& key, std::optional<std::string_view> owner, Step step);
  void CancelPlace(Claim& place, Step step);

 private:
  void EndReservationsAndCooldowns(LockEntry& lock, TimeMs now);
};

// BREAK with GRACE gives notice to a hold. The hold ends when its owner releases it, or by force
// when the grace is over. Until then, the lock is held as before, but nothing postpones the end:
// RENEW and a repeated LOCK of its owner fail, and TRANSFER passes the notice on. The queue is not
// affected.
class Departures : Rule {
 public:
  using Rule::Rule;

  // The result counts the holds that leave: that of `owner`, or, if no owner is given, all of them.
  // A second notice can only bring the end forward. REQUIRES: grace_ms > 0.
  BreakResult GiveNotice(const KeyName& key, std::optional<std::string_view> owner,
                         DurationMs grace_ms, Step step);

 private:
  void NotifyOne(std::uint64_t hash, LockEntry& lock, Hold& hold, DurationMs grace_ms, TimeMs now);
};

}  // namespace fairlock::engine
