#include "storage/log/load_log.h"

#include <algorithm>

#include "storage/records/rows.h"

namespace fairlock::storage {

namespace {

Status MissingRecord(RecordKind kind, std::uint64_t number) {
  return Damaged(RecordName(kind, number) + " is missing");
}

}  // namespace

Status LogReader::Take(const StoredRecord& record) {
  switch (record.kind) {
    case RecordKind::kHeading:
      return TakeHeading(record);
    case RecordKind::kSlice:
      return TakeSlice(record);
    case RecordKind::kBatch:
      return TakeBatch(record);
  }
  return Newer("a record has an unknown kind");
}

Result<LogEnd> LogReader::End() const {
  if (!heading_)
    return Damaged("the snapshot header is missing, so it is unknown which records are valid");
  Status status = CheckSlices();
  if (!status.ok()) return status;
  LogEnd end = end_;
  end.next_generation = generation_max_ + 1;
  return end;
}

Status LogReader::TakeHeading(const StoredRecord& record) {
  if (heading_) {
    return Damaged("there are headers for snapshots " + std::to_string(heading_->generation) +
                   " and " + std::to_string(record.generation) + "; only one is allowed");
  }
  auto heading = DecodeHeading(record.bytes, record.generation);
  if (!heading.ok()) return heading.status();
  heading_ = heading.value();
  generation_max_ = heading_->generation;
  slice_checksum_ = ChainStart(View(heading_->log_id), heading_->generation);
  end_.log_id = heading_->log_id;
  end_.next_batch = heading_->first_batch;
  end_.checksum = heading_->checksum_before;
  return {};
}

Status LogReader::TakeSlice(const StoredRecord& record) {
  generation_max_ = std::max(generation_max_, record.generation);
  // Slices of other generations belong to unfinished snapshots, including one that is being
  // written.
  if (!heading_) return {};
  if (record.generation > heading_->generation) FollowNextSnapshot(record);
  if (record.generation != heading_->generation) return {};
  if (record.number != slices_) return MissingRecord(RecordKind::kSlice, slices_);
  if (slices_ == heading_->slices) {
    return Damaged(RecordName(RecordKind::kSlice, slices_) +
                   " exceeds the number of slices in the header, " +
                   std::to_string(heading_->slices));
  }
  ++slices_;
  end_.slice_bytes += record.bytes.size();
  return TakeChanges(record, slice_checksum_);
}

void LogReader::FollowNextSnapshot(const StoredRecord& slice) {
  if (slice.number == 0) {
    next_ = {.generation = slice.generation,
             .checksum = ChainStart(View(end_.log_id), slice.generation),
             .batch_bytes_before = end_.batch_bytes};
  }
  const bool is_next = slice.generation == next_.generation && slice.number == next_.slices;
  const auto reader =
      is_next ? RecordReader::Open(slice.bytes, slice.kind, slice.number, next_.checksum)
              : Result<RecordReader>(MissingRecord(slice.kind, next_.slices));
  if (!reader.ok()) {
    next_ = {};
    return;
  }
  next_.checksum = reader->checksum();
  ++next_.slices;
  next_.bytes += slice.bytes.size();
}

bool LogReader::IsEndOfNextSnapshot(const SnapshotHeading& heading) const {
  return heading.log_id == end_.log_id && heading.generation == next_.generation &&
         heading.slices == next_.slices && heading.last_slice_checksum == next_.checksum &&
         heading.first_batch >= heading_->first_batch && heading.first_batch <= end_.next_batch &&
         (heading.first_batch != end_.next_batch || heading.checksum_before == end_.checksum);
}

Status LogReader::ReplaceHeading(const StoredRecord& record) {
  auto heading = DecodeHeading(record.bytes, record.generation);
  if (!heading.ok()) return heading.status();
  if (!heading_ || !CheckSlices().ok() || !IsEndOfNextSnapshot(heading.value())) {
    return Damaged(RecordName(RecordKind::kHeading, record.generation) +
                   " does not end the snapshot that was followed");
  }
  heading_ = heading.value();
  slices_ = heading_->slices;
  slice_checksum_ = heading_->last_slice_checksum;
  end_.slice_bytes = next_.bytes;
  end_.batch_bytes -= next_.batch_bytes_before;
  end_.batches = end_.next_batch - heading_->first_batch;
  next_ = {};
  return {};
}

Status LogReader::TakeBatch(const StoredRecord& record) {
  if (!heading_ || record.number < heading_->first_batch) return {};
  Status status = CheckSlices();
  if (!status.ok()) return status;
  if (record.number != end_.next_batch) return MissingRecord(RecordKind::kBatch, end_.next_batch);
  ++end_.next_batch;
  ++end_.batches;
  end_.batch_bytes += record.bytes.size();
  return TakeChanges(record, end_.checksum);
}

Status LogReader::CheckSlices() const {
  if (slices_ != heading_->slices) return MissingRecord(RecordKind::kSlice, slices_);
  if (slice_checksum_ != heading_->last_slice_checksum) {
    return Damaged("the slices of " + RecordName(RecordKind::kHeading, heading_->generation) +
                   " do not match the checksum in its header");
  }
  return {};
}

Status LogReader::TakeChanges(const StoredRecord& record, std::uint64_t& checksum) {
  auto reader = RecordReader::Open(record.bytes, record.kind, record.number, checksum);
  if (!reader.ok()) return reader.status();
  checksum = reader->checksum();
  Change change;
  while (reader->Next(change)) {
    if (!IsWellFormed(change)) return reader->UnknownContent();
    sink_.Apply(change);
  }
  return reader->status();
}

Status BeginLog(Store& store, const LogId& log_id) {
  RecordWriter writer;
  const SnapshotHeading heading = HeadingOfNewLog(log_id);
  return store.Replace({.kind = RecordKind::kHeading, .bytes = EncodeHeading(heading, writer)},
                       heading.first_batch);
}

Result<LogEnd> LoadLog(Store& store, ChangeSink& sink) {
  LogReader reader(sink);
  Status status = store.Load(reader);
  if (!status.ok()) return status;
  return reader.End();
}

// The elements of a large value go with it, or with its number.
void RowTable::DropElementsOfPrevious(const Name& name, const Change& change) {
  const auto previous = rows_.find(name);
  if (previous == rows_.end()) return;
  const std::uint64_t number = NumberOfValue(previous->second);
  if (number == 0 || (!change.is_deletion && NumberOfValue(change.value) == number)) return;
  const std::string prefix = KeyPrefixOfElements(number);
  auto element = rows_.lower_bound({RowKind::kElement, prefix});
  while (element != rows_.end() && element->first.first == RowKind::kElement &&
         element->first.second.starts_with(prefix)) {
    element = rows_.erase(element);
  }
}

void RowTable::Apply(const Change& change) {
  Name name(change.kind, change.key);
  if (change.kind == RowKind::kValue) DropElementsOfPrevious(name, change);
  if (change.is_deletion) {
    rows_.erase(name);
  } else {
    rows_.insert_or_assign(std::move(name), change.value);
  }
}

}  // namespace fairlock::storage
