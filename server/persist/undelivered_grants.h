// Grants whose replies wait for the journal.
#pragma once

#include <cstdint>
#include <deque>

#include "server/engine/lock_engine.h"
#include "server/persist/batch_writer.h"

namespace fairlock::persist {

// A lease counts from the turn in which its reply may leave, not from the one in which it was
// decided: what the journal took meanwhile is added. Loop-confined.
class UndeliveredGrants {
 public:
  void Add(std::uint64_t batch, engine::TimeMs now, GrantsOfBatch grants);

  // At the begin of a turn, before anything is due: the batches up to `completed` may be told of
  // now. Others are moved on only if one of their leases would end.
  void Delay(engine::LockEngine& engine, std::uint64_t completed, engine::TimeMs now);

 private:
  struct Batch {
    std::uint64_t number = 0;
    engine::TimeMs since = 0;  // what their leases count from by now
    GrantsOfBatch grants;
  };

  static void MoveOn(engine::LockEngine& engine, Batch& batch, engine::TimeMs now);

  std::deque<Batch> batches_;
};

}  // namespace fairlock::persist
