// Long leases, whose time left is stored while they run.
#pragma once

#include <cstdint>
#include <optional>

#include "server/engine/lock_engine.h"
#include "server/persist/long_leases.h"
#include "storage/records/record.h"

namespace fairlock::persist {

// Once a minute visits all locks, some of them a turn, and stores those long leases again of which
// another tenth has passed. Loop-confined.
class LongLeaseSweep {
 public:
  LongLeaseSweep(engine::LockEngine& engine, engine::TimeMs now) : engine_(engine), from_(now) {}

  bool is_in_progress() const { return cursor_.has_value(); }
  engine::TimeMs NextDeadline() const { return from_ + kLongLeaseSweepMs; }
  // Adds the rows of the locks that it visits now.
  void Advance(engine::TimeMs now, storage::RecordWriter& batch);

 private:
  engine::LockEngine& engine_;
  std::optional<std::uint64_t> cursor_;
  engine::TimeMs from_;  // when the last sweep began
  engine::TimeMs to_ = 0;
};

}  // namespace fairlock::persist
