// Connections: when one closes, its places stay for KEEP or for the reconnect grace, its sessions
// end or run through their GRACE, and its watchers end. If it had very many sessions, they end in
// several calls. A grant that did not reach its owner is undone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/engine/api/step.h"
#include "server/engine/rules/claims.h"
#include "server/engine/rules/expiry.h"
#include "server/engine/rules/holds.h"
#include "server/engine/rules/limits.h"
#include "server/engine/rules/places.h"
#include "server/engine/rules/wait_queue.h"
#include "server/engine/rules/watchers.h"
#include "server/engine/state/engine_state.h"
#include "server/engine/state/multi_lock.h"

namespace fairlock::engine {

// Loop-confined.
class Sessions {
 public:
  Sessions(EngineState& state, const Claims& claims, Holds& holds, const Limits& limits,
           WaitQueue& wait_queue, Places& places, Watchers& watchers, Expiry& expiry)
      : state_(state),
        claims_(claims),
        holds_(holds),
        limits_(limits),
        wait_queue_(wait_queue),
        places_(places),
        watchers_(watchers),
        expiry_(expiry) {}

  bool UndoGrant(std::uint64_t key_hash, Token token, Step step);
  void Detach(Attachment& attachment, Step step);
  // Ends at most about `holds_max` of the holds that Detach left. True: there are more.
  bool EndClosed(std::size_t holds_max, Step step);
  void EndWaits(Attachment& attachment, Step step);

 private:
  static LockList LocksOf(Pending& pending);
  void Unlink(Attachment& attachment);
  void EndFirst(Attachment& attachment, Step step);
  void LoseSession(Claim& hold, TimeMs now);
  static void AdoptRequest(Claim& claim, const Claim& first);
  bool UndoMultiLock(MultiLock& multi_lock, Step step);

  // At most this many holds end at once between two calls of EndClosed, which ends the others. A
  // grant to the next waiter takes microseconds, during which other connections have to wait.
  static constexpr std::size_t kEndedAtOnceMax = 1000;

  EngineState& state_;
  Claims claims_;
  Holds& holds_;
  Limits limits_;
  WaitQueue& wait_queue_;
  Places& places_;
  Watchers& watchers_;
  Expiry& expiry_;
  std::size_t ended_at_once_ = 0;
};

}  // namespace fairlock::engine
