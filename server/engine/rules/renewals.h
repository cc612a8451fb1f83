// RENEW: the lease ends the given time from now, or its recorded length from now; with GT, not
// earlier than before. During the grace of a session, only a LOCK by the owner brings the hold
// back.
#pragma once

#include <cstdint>

#include "server/engine/api/change_log.h"
#include "server/engine/api/requests.h"
#include "server/engine/api/step.h"
#include "server/engine/rules/events.h"
#include "server/engine/rules/expiry.h"
#include "server/engine/rules/holds.h"
#include "server/engine/state/engine_state.h"

namespace fairlock::engine {

// Loop-confined.
class Renewals {
 public:
  Renewals(EngineState& state, Events& events, Holds& holds, Expiry& expiry)
      : state_(state), events_(events), holds_(holds), expiry_(expiry) {}

  bool Renew(const RenewRequest& request, Step step);
  static bool IsRenewable(const Hold* hold);
  void RenewOne(std::uint64_t hash, LockEntry& lock, Hold& hold, const RenewRequest& request,
                TimeMs now);
  // Call this when the reply to a grant is sent, `delay_ms` after the decision: the lease and the
  // other times of the hold then count from now on.
  void ExtendUnsentLease(const ChangeLog::Name& name, DurationMs delay_ms);

 private:
  EngineState& state_;
  Events& events_;
  Holds& holds_;
  Expiry& expiry_;
};

}  // namespace fairlock::engine
