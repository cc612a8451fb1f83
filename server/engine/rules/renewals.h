// RENEW: the lease ends the given time from now, or its recorded length from now; with GT, not
// earlier than before. During the grace of a session, only a LOCK by the owner brings the hold
// back.
#pragma once

#include <cstdint>

#include "server/engine/api/change_log.h"
#include "server/engine/api/effects.h"
#include "server/engine/api/requests.h"
#include "server/engine/rules/rule.h"

namespace fairlock::engine {

class Renewals : Rule {
 public:
  using Rule::Rule;

  bool Renew(const RenewRequest& request, Step step);
  static bool IsRenewable(const Hold* hold);
  void RenewOne(std::uint64_t hash, LockEntry& lock, Hold& hold, const RenewRequest& request,
                TimeMs now);
  // Call this when the reply to a grant is sent, `delay_ms` after the decision: the lease and the
  // other times of the hold then count from now on.
  void ExtendUnsentLease(const ChangeLog::Name& name, DurationMs delay_ms);
};

}  // namespace fairlock::engine
