// Loads the state from a store: finds the records that belong to it, checks their chain, and passes
// on their changes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "storage/log/store.h"
#include "storage/records/snapshot_heading.h"

namespace fairlock::storage {

class ChangeSink {
 public:
  // Receives only well-formed changes (IsWellFormed); each is valid only during the call.
  virtual void Apply(const Change& change) = 0;

 protected:
  ~ChangeSink() = default;
};

// The end of a log, where the next batch and the next snapshot begin.
struct LogEnd {
  LogId log_id{};
  std::uint64_t next_batch = 1;
  std::uint64_t checksum = 0;         // that of the last batch; the next batch is sealed with it
  std::uint64_t next_generation = 1;  // higher than every generation of which a record exists
  std::uint64_t batches = 0;          // the number of batches read
  std::uint64_t batch_bytes = 0;
  std::uint64_t slice_bytes = 0;
};

// Receives the records of a log in the order in which Store::Load passes them on, and then the
// records that are appended later. So it can follow a log that it has loaded. After the first
// status of Take other than ok, only the destructor may be called.
class LogReader final : public RecordSink {
 public:
  // `sink` must outlive the reader.
  explicit LogReader(ChangeSink& sink) : sink_(sink) {}

  Status Take(const StoredRecord& record) override;
  // Continues with the heading of a newer snapshot of the same log. All its slices were received,
  // and so were all batches before its end; they need not be applied, because the state is the
  // same. An error means that this is not so; then nothing has changed.
  Status ReplaceHeading(const StoredRecord& record);
  // The end of the log according to the records received. An error says which record is missing.
  Result<LogEnd> End() const;
  // The end of the batches that were applied.
  const LogEnd& so_far() const { return end_; }

 private:
  Status TakeHeading(const StoredRecord& record);
  Status TakeSlice(const StoredRecord& record);
  Status TakeBatch(const StoredRecord& record);
  void FollowNextSnapshot(const StoredRecord& slice);
  bool IsEndOfNextSnapshot(const SnapshotHeading& heading) const;
  Status CheckSlices() const;
  Status TakeChanges(const StoredRecord& record, std::uint64_t& checksum);

  ChangeSink& sink_;
  std::optional<SnapshotHeading> heading_;
  std::uint64_t slices_ = 0;
  std::uint64_t slice_checksum_ = 0;
  std::uint64_t generation_max_ = 0;
  struct NextSnapshot {
    std::uint64_t generation = 0;  // 0: none, or a slice is missing
    std::uint64_t slices = 0;
    std::uint64_t checksum = 0;
    std::uint64_t bytes = 0;
    std::uint64_t batch_bytes_before = 0;  // of the batches since the heading
  };
  NextSnapshot next_;  // the slices of the snapshot that is being written
  LogEnd end_;
};

// Writes the heading of a new log into an empty store.
Status BeginLog(Store& store, const LogId& log_id);

// Passes on the changes of the snapshot and then those of all later batches, in order. An error
// names the first record that is damaged or missing, or does not follow the record before it.
Result<LogEnd> LoadLog(Store& store, ChangeSink& sink);

// Collects the rows that remain after all changes have been applied.
class RowTable final : public ChangeSink {
 public:
  using Name = std::pair<RowKind, std::string>;

  void Apply(const Change& change) override;
  const std::map<Name, std::string>& rows() const { return rows_; }

 private:
  void DropElementsOfPrevious(const Name& name, const Change& change);

  std::map<Name, std::string> rows_;
};

}  // namespace fairlock::storage
