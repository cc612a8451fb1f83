// Writes snapshots, one slice at a time between the batches.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "contracts/loop_confined.h"
#include "server/engine/api/change_log.h"
#include "server/engine/lock_engine.h"
#include "server/persist/persist_limits.h"
#include "server/persist/value_writer.h"
#include "storage/log/journal.h"
#include "storage/records/record.h"
#include "storage/records/rows.h"

namespace fairlock::persist {

// A snapshot begins when the batches since the last one would take long to read: when their size,
// with an addition for each of them, reaches a bound. So the log stays short and the next start
// fast.
class SnapshotTask : contracts::LoopConfined {
 public:
  // Writes the rows of a snapshot that do not belong to locks.
  using WriteHead = std::function<void(storage::RecordWriter& slice)>;

  // `values` is empty if values are not stored; it may change until the first snapshot.
  SnapshotTask(const engine::LockEngine& engine, std::optional<ValueWriter>& values,
               storage::Journal& journal, const storage::LogEnd& end, const SnapshotPace& pace)
      : engine_(engine),
        values_(values),
        journal_(journal),
        pace_(pace),
        batch_bytes_(end.batch_bytes + end.batches * pace.bytes_of_a_batch),
        snapshot_bytes_(end.slice_bytes) {}

  void CountBatch(std::uint64_t bytes) { batch_bytes_ += bytes + pace_.bytes_of_a_batch; }
  bool is_in_progress() const { return cursor_.has_value(); }

  // Begins a snapshot if it is time for one, and writes the next slice of the one in progress.
  void Advance(engine::TimeMs now, const WriteHead& write_head);
  // Whether the journal is too busy for further slices.
  bool IsHeldUp() const;

  // Writes a whole snapshot of the final state, including the time left of leases and all places.
  // Blocks.
  void WriteFinal(engine::TimeMs now, const WriteHead& write_head);
  // Writes a snapshot without locks.
  void WriteEmpty(const WriteHead& write_head);

 private:
  // The next part of a walk: locks first, then values.
  struct Cursor {
    bool is_in_values = false;
    std::uint64_t next = 0;  // of the locks
  };

  bool IsDue() const;
  // Adds the part at the cursor to the slice. Returns the next part; none: the walk has ended. The
  // time left of leases and cooldowns is that when the snapshot began: a reader finds behind it the
  // batches, with their times, that were written while it was made.
  std::optional<Cursor> WritePart(const Cursor& cursor, const engine::RowDetail& detail,
                                  engine::TimeMs now);

  const engine::LockEngine& engine_;
  std::optional<ValueWriter>& values_;
  storage::Journal& journal_;
  const SnapshotPace pace_;
  storage::RecordWriter slice_;
  std::uint64_t batch_bytes_;     // what the batches since the last snapshot began count
  std::uint64_t snapshot_bytes_;  // the size of the last snapshot
  std::optional<Cursor> cursor_;
  engine::TimeMs begun_at_ = 0;  // the time from which the time left is counted
};

// Writes the rows that the engine reports into a record.
//
// The record must outlive the writer.
class RowWriter final : public engine::RowSink {
 public:
  explicit RowWriter(storage::RecordWriter& record) : record_(record) {}

  void Take(const rows::Hold& hold) override { PutRow(record_, hold); }
  void Take(const rows::Place& place) override { PutRow(record_, place); }
  void Take(const rows::Cooldown& cooldown) override { PutRow(record_, cooldown); }

 private:
  storage::RecordWriter& record_;
};

// Periodically stores the remaining time of long leases while they run.
//
// Visits all locks once a minute, some of them in each turn, and stores each long lease again when
// another tenth of it has passed.
class LongLeaseSweep : contracts::LoopConfined {
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
