// Writes the changes of the lock engine into batches.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/engine/api/change_log.h"
#include "server/engine/lock_engine.h"
#include "storage/records/record.h"

namespace fairlock::persist {

// A moment, as read from the clock of leases and from the wall clock.
struct Moment {
  engine::TimeMs now = 0;
  std::int64_t unix_ms = 0;
};

// The grants in one batch.
struct GrantsOfBatch {
  std::vector<engine::ChangeLog::Name> names;
  engine::DurationMs lease_ms_min = engine::kForever;
};

// Loop-confined. Provides the engine's change log until it is destroyed; the engine must outlive
// it.
class BatchWriter {
 public:
  BatchWriter(engine::LockEngine& engine, engine::TimeMs now);
  BatchWriter(const BatchWriter&) = delete;
  BatchWriter& operator=(const BatchWriter&) = delete;
  ~BatchWriter();

  bool has_changes() const { return !changes_.empty(); }
  // Whether it has ever written a lease whose time left must be stored again while the lease runs.
  bool has_long_leases() const { return has_long_leases_; }
  void set_has_long_leases() { has_long_leases_ = true; }

  // Adds the rows of everything that has changed since the last call, and the names of the grants.
  void Write(const Moment& moment, storage::RecordWriter& batch, GrantsOfBatch& grants);

  // Writes all limits, for a snapshot.
  void WriteLimits(const Moment& moment, storage::RecordWriter& slice);

 private:
  void WriteEnds(storage::RecordWriter& batch) const;
  void WriteHolds(storage::RecordWriter& batch, GrantsOfBatch& grants);
  void WriteChangedLimits(const Moment& moment, storage::RecordWriter& batch);

  engine::LockEngine& engine_;
  engine::ChangeLog changes_;
  struct StoredLimit {
    engine::LimitOverride limit;
    std::uint64_t age = 0;  // 0: that of an earlier run
  };

  // The override from which each stored row was made, by database and pattern.
  std::map<std::pair<std::uint8_t, std::string>, StoredLimit> stored_limits_;
  // Of equally specific patterns, the newest has the highest age. Slices of snapshots use up ages
  // too: a snapshot begins with all limits, in their order.
  std::uint64_t next_limit_age_ = 1;
  bool has_long_leases_ = false;
};

}  // namespace fairlock::persist
