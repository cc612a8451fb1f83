// Grants whose replies wait for the journal.
#pragma once

#include <cstdint>
#include <deque>

#include "server/engine/lock_engine.h"
#include "server/persist/batch_writer.h"

namespace fairlock::persist {

// A lease counts from the turn in which its reply may be sent, not from the turn in which it was
// decided, so the time that the journal took is added. Loop-confined.
class UndeliveredGrants {
 public:
  void Add(std::uint64_t batch, engine::TimeMs now, GrantsOfBatch grants);

  // Call this at the beginning of a turn, before ending what is due. The grants in batches up to
  // `completed` may now be revealed, so their leases count from now. The leases of later batches
  // are extended only if one of them would otherwise end.
  void Delay(engine::LockEngine& engine, std::uint64_t completed, engine::TimeMs now);

 private:
  struct Batch {
    std::uint64_t number = 0;
    engine::TimeMs since = 0;  // the time from which their leases currently count
    GrantsOfBatch grants;
  };

  static void MoveOn(engine::LockEngine& engine, Batch& batch, engine::TimeMs now);

  std::deque<Batch> batches_;
};

}  // namespace fairlock::persist
