// BREAK with GRACE gives notice to a hold. The hold ends when its owner releases it, or by force
// when the grace is over. Until then, the lock is held as before, but nothing postpones the end:
// RENEW and a repeated LOCK of its owner fail, and TRANSFER passes the notice on. The queue is not
// affected.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/engine/api/requests.h"
#include "server/engine/api/step.h"
#include "server/engine/api/types.h"
#include "server/engine/rules/events.h"
#include "server/engine/rules/expiry.h"
#include "server/engine/rules/holds.h"
#include "server/engine/state/engine_state.h"

namespace fairlock::engine {

// Loop-confined.
class Departures {
 public:
  Departures(EngineState& state, Events& events, Holds& holds, Expiry& expiry)
      : state_(state), events_(events), holds_(holds), expiry_(expiry) {}

  // The result counts the holds that leave: that of `owner`, or, if no owner is given, all of them.
  // A second notice can only bring the end forward. REQUIRES: grace_ms > 0.
  BreakResult GiveNotice(const KeyName& key, std::optional<std::string_view> owner,
                         DurationMs grace_ms, Step step);

 private:
  void NotifyOne(std::uint64_t hash, LockEntry& lock, Hold& hold, DurationMs grace_ms, TimeMs now);

  EngineState& state_;
  Events& events_;
  Holds& holds_;
  Expiry& expiry_;
};

}  // namespace fairlock::engine
