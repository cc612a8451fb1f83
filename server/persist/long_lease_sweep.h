// Periodically stores the remaining time of long leases while they run.
#pragma once

#include <cstdint>
#include <optional>

#include "server/engine/lock_engine.h"
#include "server/persist/long_leases.h"
#include "storage/records/record.h"

namespace fairlock::persist {

// Visits all locks once a minute, some of them in each turn, and stores each long lease again when
// another tenth of it has passed. Loop-confined.
class LongLeaseSweep {
 public:
  LongLeaseSweep(engine::LockEngine& engine, std::size_t locks_of_a_slice, engine::TimeMs now)
      : engine_(engine), locks_of_a_slice_(locks_of_a_slice), from_(now) {}

  bool is_in_progress() const { return cursor_.has_value(); }
  engine::TimeMs NextDeadline() const { return from_ + kLongLeaseSweepMs; }
  // Adds the rows of the locks that it visits now.
  void Advance(engine::TimeMs now, storage::RecordWriter& batch);

 private:
  engine::LockEngine& engine_;
  const std::size_t locks_of_a_slice_;
  std::optional<std::uint64_t> cursor_;
  engine::TimeMs from_;  // when the last sweep began
  engine::TimeMs to_ = 0;
};

}  // namespace fairlock::persist
