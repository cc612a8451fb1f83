#include "storage/data_folder/check_data.h"

#include <optional>

#include "storage/byte_coding.h"
#include "storage/data_folder/data_directory.h"
#include "storage/log/load_log.h"
#include "storage/records/rows.h"
#include "storage/rocksdb/log_scan.h"
#include "storage/rocksdb/rocksdb_store.h"

namespace fairlock::storage {
namespace {

// Continues after damage: each record is checked against the checksum that the record before it
// stores, even if that record is damaged.
class Examination final : public RecordSink {
 public:
  explicit Examination(DataReport& report) : report_(report) {}

  Status Take(const StoredRecord& record) override {
    if (record.kind == RecordKind::kHeading) {
      TakeHeading(record);
    } else if (!heading_) {
      ++report_.leftovers;
    } else if (record.kind == RecordKind::kSlice) {
      TakeSlice(record);
    } else {
      TakeBatch(record);
    }
    return {};
  }

  void AddDamage(const Status& status) {
    if (status.ok()) return;
    ++report_.damages_found;
    if (report_.damages.size() < kDamagesMax) report_.damages.push_back(status.message());
  }

  void Finish(const LogId& log_id) {
    if (!heading_) return AddDamage(Damaged("there is no readable snapshot header"));
    if (heading_->log_id != log_id)
      AddDamage(Damaged("the database belongs to another data folder"));
    AddMissing(RecordKind::kSlice, next_slice_, heading_->slices);
    for (const auto& [name, value] : table_.rows()) {
      ++report_.rows[static_cast<std::size_t>(name.first)];
      MetaRow row;
      if (name.first == RowKind::kMeta && DecodeRow(name.second, value, row) &&
          row.name == MetaName::kTokenCeiling) {
        report_.token_ceiling = row.number;
      }
    }
  }

 private:
  void TakeHeading(const StoredRecord& record) {
    auto heading = DecodeHeading(record.bytes, record.generation);
    if (!heading.ok()) return AddDamage(heading.status());
    if (heading_) {
      AddDamage(Damaged("there is more than one snapshot header; the last one is for " +
                        RecordName(RecordKind::kHeading, record.generation)));
    }
    heading_ = heading.value();
    report_.generation = heading_->generation;
    slice_checksum_ = ChainStart(View(heading_->log_id), heading_->generation);
    batch_checksum_ = heading_->checksum_before;
    next_batch_ = heading_->first_batch;
  }

  void TakeSlice(const StoredRecord& record) {
    if (record.generation != heading_->generation) {
      ++report_.leftovers;
      return;
    }
    AddMissing(RecordKind::kSlice, next_slice_, record.number);
    next_slice_ = record.number + 1;
    ++report_.slices;
    TakeChanges(record, slice_checksum_);
  }

  void TakeBatch(const StoredRecord& record) {
    if (record.number < heading_->first_batch) {
      ++report_.leftovers;
      return;
    }
    AddMissing(RecordKind::kBatch, next_batch_, record.number);
    next_batch_ = record.number + 1;
    if (report_.first_batch == 0) report_.first_batch = record.number;
    report_.last_batch = record.number;
    TakeChanges(record, batch_checksum_);
  }

  void AddMissing(RecordKind kind, std::uint64_t expected, std::uint64_t found) {
    if (found <= expected) return;
    AddDamage(
        Damaged(RecordName(kind, expected) +
                (found - expected == 1 ? " is missing"
                                       : " to " + RecordName(kind, found - 1) + " are missing")));
  }

  void TakeChanges(const StoredRecord& record, std::uint64_t& checksum) {
    auto reader = RecordReader::Open(record.bytes, record.kind, record.number, checksum);
    if (record.bytes.size() >= kRecordSealBytes) {
      checksum =
          ReadFixed<std::uint64_t>(record.bytes.data() + record.bytes.size() - kRecordSealBytes);
    }
    if (!reader.ok()) return AddDamage(reader.status());
    Change change;
    for (std::uint32_t i = 1; reader->Next(change); ++i) {
      if (IsWellFormed(change)) {
        table_.Apply(change);
      } else {
        AddDamage(Damaged(RecordName(record.kind, record.number) + ", change " + std::to_string(i) +
                          ": invalid content for its kind of row"));
      }
    }
    AddDamage(reader->status());
  }

  DataReport& report_;
  RowTable table_;
  std::optional<SnapshotHeading> heading_;
  std::uint64_t slice_checksum_ = 0;
  std::uint64_t batch_checksum_ = 0;
  std::uint64_t next_slice_ = 0;
  std::uint64_t next_batch_ = 0;
};

}  // namespace

Result<DataReport> CheckData(const std::string& path) {
  const auto directory = DataDirectory::Open({.path = path, .only_look = true});
  if (!directory.ok()) return directory.status();
  DataReport report;
  if (directory->is_new()) return report;
  Examination examination(report);
  const Status logs = CheckLogs(directory->database_path()).status();
  examination.AddDamage(logs);
  const auto store = RocksDbStore::Open(
      {.path = directory->database_path(), .mode = RocksDbOptions::Mode::kReadOnly});
  if (!store.ok()) {
    // Opening reads the logs too, and the damage in them is already listed.
    if (logs.ok()) examination.AddDamage(store.status());
    return report;
  }
  examination.AddDamage(store.value()->VerifyTables());
  examination.AddDamage(store.value()->Load(examination));
  examination.Finish(directory->log_id());
  return report;
}

}  // namespace fairlock::storage
