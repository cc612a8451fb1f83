// Restart: stored holds, places and cooldowns are restored before the first request, without
// events. The owners of sessions and skipped places get time to reconnect.
#pragma once

#include "server/engine/api/row_sink.h"
#include "server/engine/api/step.h"
#include "server/engine/rules/claims.h"
#include "server/engine/rules/grants.h"
#include "server/engine/rules/holds.h"
#include "server/engine/rules/places.h"
#include "server/engine/rules/wait_queue.h"
#include "server/engine/state/engine_state.h"
#include "server/engine/state/lock_entry.h"

namespace fairlock::engine {

// Loop-confined.
class Restoration {
 public:
  Restoration(EngineState& state, const Claims& claims, Holds& holds, WaitQueue& wait_queue,
              Places& places, Grants& grants)
      : state_(state),
        claims_(claims),
        holds_(holds),
        wait_queue_(wait_queue),
        places_(places),
        grants_(grants) {}

  void Restore(const rows::Hold& hold, DurationMs restart_grace_ms, TimeMs now);
  void Restore(const rows::Place& place, DurationMs restart_grace_ms, TimeMs now);
  void Restore(const rows::Cooldown& cooldown, TimeMs now);
  void EndRestore(Token first_token, Step step);

 private:
  LockEntry& LockToRestore(const KeyName& key, const PlainTerms& terms);
  Claim& RestoreClaim(LockEntry& lock, const rows::Claim& row);
  Claim& RestorePlace(const KeyName& key, const rows::Place& row, TimeMs now);
  MultiLock& MultiLockToRestore(const rows::Hold& row);

  EngineState& state_;
  Claims claims_;
  Holds& holds_;
  WaitQueue& wait_queue_;
  Places& places_;
  Grants& grants_;
};

}  // namespace fairlock::engine
