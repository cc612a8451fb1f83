// Examines a whole log without changing anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/log/load_log.h"
#include "storage/log/store.h"
#include "storage/records/snapshot_heading.h"
#include "storage/status.h"

namespace fairlock::storage {

inline constexpr std::size_t kDamagesMax = 1'000;  // limit for the list; all are counted

struct DataReport {
  std::vector<std::string> damages;  // each entry names a record or file
  std::uint64_t damages_found = 0;
  std::uint64_t generation = 0;  // the generation of the current snapshot
  std::uint64_t slices = 0;
  std::uint64_t first_batch = 0;  // the first one after the snapshot; 0: no batch
  std::uint64_t last_batch = 0;
  std::uint64_t leftovers = 0;          // records that do not belong to the state; harmless
  std::array<std::uint64_t, 8> rows{};  // rows of the state, by RowKind
  std::uint64_t token_ceiling = 0;

  bool is_whole() const { return damages_found == 0; }
  std::uint64_t rows_of(RowKind kind) const { return rows[static_cast<std::size_t>(kind)]; }
};

// Receives all records of a log, as a store loads them, and reports what they contain. Continues
// after damage: each record is checked against the checksum that the record before it stores, even
// if that record is damaged.
class Examination final : public RecordSink {
 public:
  explicit Examination(DataReport& report) : report_(report) {}

  Status Take(const StoredRecord& record) override;
  // Adds the damage that the status describes to the list; ok: adds nothing.
  void AddDamage(const Status& status);
  // Call this after the last record. `log_id` is the ID that the log must have, if that is known.
  void Finish(const std::optional<LogId>& log_id);

 private:
  void TakeHeading(const StoredRecord& record);
  void TakeSlice(const StoredRecord& record);
  void TakeBatch(const StoredRecord& record);
  void AddMissing(RecordKind kind, std::uint64_t expected, std::uint64_t found);
  void TakeChanges(const StoredRecord& record, std::uint64_t& checksum);

  DataReport& report_;
  RowTable table_;
  std::optional<SnapshotHeading> heading_;
  std::uint64_t slice_checksum_ = 0;
  std::uint64_t batch_checksum_ = 0;
  std::uint64_t next_slice_ = 0;
  std::uint64_t next_batch_ = 0;
};

}  // namespace fairlock::storage
