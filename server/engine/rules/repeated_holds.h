// LOCK by the holder: the owner keeps its hold and token, its lease is never shortened, and the
// options of the repeated request replace those of the hold.
#pragma once

#include <cstdint>

#include "server/engine/api/requests.h"
#include "server/engine/rules/claims.h"
#include "server/engine/rules/events.h"
#include "server/engine/rules/holds.h"
#include "server/engine/state/engine_state.h"

namespace fairlock::engine {

// Loop-confined.
class RepeatedHolds {
 public:
  RepeatedHolds(EngineState& state, Events& events, const Claims& claims, Holds& holds)
      : state_(state), events_(events), claims_(claims), holds_(holds) {}

  static bool Covers(const Mode& held, const Mode& asked);
  Hold& Reacquire(std::uint64_t hash, LockEntry& lock, Hold& held, const LockRequest& request,
                  Attachment& from, TimeMs now);

 private:
  void BindSession(Claim& hold, const Attachment* channel_before, const LockRequest& request,
                   Attachment& from);
  void ProlongByRepeat(LockEntry& lock, Hold& hold, TimeMs end_before, const LockRequest& request,
                       TimeMs now);
  bool BringsOptions(const Hold& hold, const LockRequest& request) const;

  EngineState& state_;
  Events& events_;
  Claims claims_;
  Holds& holds_;
};

}  // namespace fairlock::engine
