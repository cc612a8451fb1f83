#include "storage/log/examination.h"

#include "storage/byte_coding.h"
#include "storage/records/rows.h"

namespace fairlock::storage {

Status Examination::Take(const StoredRecord& record) {
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

void Examination::AddDamage(const Status& status) {
  if (status.ok()) return;
  ++report_.damages_found;
  if (report_.damages.size() < kDamagesMax) report_.damages.push_back(status.message());
}

void Examination::Finish(const std::optional<LogId>& log_id) {
  if (!heading_) return AddDamage(Damaged("there is no readable snapshot header"));
  if (log_id && heading_->log_id != *log_id) {
    AddDamage(Damaged("the database belongs to another data folder"));
  }
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

void Examination::TakeHeading(const StoredRecord& record) {
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

void Examination::TakeSlice(const StoredRecord& record) {
  if (record.generation != heading_->generation) {
    ++report_.leftovers;
    return;
  }
  AddMissing(RecordKind::kSlice, next_slice_, record.number);
  next_slice_ = record.number + 1;
  ++report_.slices;
  TakeChanges(record, slice_checksum_);
}

void Examination::TakeBatch(const StoredRecord& record) {
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

void Examination::AddMissing(RecordKind kind, std::uint64_t expected, std::uint64_t found) {
  if (found <= expected) return;
  AddDamage(
      Damaged(RecordName(kind, expected) +
              (found - expected == 1 ? " is missing"
                                     : " to " + RecordName(kind, found - 1) + " are missing")));
}

void Examination::TakeChanges(const StoredRecord& record, std::uint64_t& checksum) {
  auto reader = RecordReader::Open(record.bytes, record.kind, record.number, checksum);
  if (record.bytes.size() >= kRecordSealBytes) {
    checksum =
        ReadFixed<std::uint64_t>(record.bytes.data() + record.bytes.size() - kRecordSealBytes);
  }
  if (!reader.ok()) return AddDamage(reader.status());
  Change change;
  while (reader->Next(change)) {
    if (IsWellFormed(change)) {
      table_.Apply(change);
    } else {
      AddDamage(reader->UnknownContent());
    }
  }
  AddDamage(reader->status());
}

}  // namespace fairlock::storage
