// Writes the changes of the lock engine into batches.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "contracts/loop_confined.h"
#include "server/engine/api/change_log.h"
#include "server/engine/containers/time.h"
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

// Provides the engine's change log until it is destroyed; the engine must outlive
// it.
class BatchWriter : contracts::LoopConfined {
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

// Grants whose replies wait for the journal.
//
// A lease counts from the turn in which its reply may be sent, not from the turn in which it was
// decided, so the time that the journal took is added.
class UndeliveredGrants : contracts::LoopConfined {
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

// Measures how long batches take from being handed over to being complete.
//
// Times one batch at a time.
class BatchTimes : contracts::LoopConfined {
 public:
  // Times this batch, unless another one is being timed.
  void Begin(std::uint64_t batch, engine::TimeMs now) {
    AssertInLoop();
    if (batch_ != 0) return;
    batch_ = batch;
    since_ = now;
  }
  // Call this when the batches up to `completed` are complete.
  void Complete(std::uint64_t completed, engine::TimeMs now) {
    AssertInLoop();
    if (batch_ == 0 || completed < batch_) return;
    ++count_;
    sum_ms_ += now - since_;
    batch_ = 0;
  }
  // Call this for a batch that is complete as soon as it is handed over.
  void CountAtOnce() { ++count_; }

  std::uint64_t count() const { return count_; }
  engine::DurationMs sum_ms() const { return sum_ms_; }
  // When the batch that is being timed was handed over; 0: no batch is being timed.
  engine::TimeMs since() const { return batch_ == 0 ? 0 : since_; }

 private:
  std::uint64_t batch_ = 0;  // the batch being timed; 0: none
  engine::TimeMs since_ = 0;
  std::uint64_t count_ = 0;
  engine::DurationMs sum_ms_ = 0;
};

}  // namespace fairlock::persist
