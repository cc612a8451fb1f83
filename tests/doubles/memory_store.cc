#include "tests/doubles/memory_store.h"

namespace fairlock::storage {

Status MemoryStore::Load(RecordSink& sink) {
  const std::lock_guard lock(mutex_);
  Status status;
  const auto take = [&](RecordKind kind, std::uint64_t generation, std::uint64_t number,
                        const std::string& bytes) {
    status = sink.Take({.kind = kind, .generation = generation, .number = number, .bytes = bytes});
    return status.ok();
  };
  for (const auto& [generation, bytes] : headings_) {
    if (!take(RecordKind::kHeading, generation, generation, bytes)) return status;
  }
  for (const auto& [name, bytes] : slices_) {
    if (!take(RecordKind::kSlice, name.first, name.second, bytes)) return status;
  }
  for (const auto& [number, bytes] : batches_) {
    if (!take(RecordKind::kBatch, 0, number, bytes)) return status;
  }
  return status;
}

void MemoryStore::Keep(const StoredRecord& record) {
  switch (record.kind) {
    case RecordKind::kBatch:
      batches_[record.number] = record.bytes;
      return;
    case RecordKind::kSlice:
      slices_[{record.generation, record.number}] = record.bytes;
      return;
    case RecordKind::kHeading:
      headings_[record.generation] = record.bytes;
      return;
  }
}

Status MemoryStore::Append(std::span<const StoredRecord> records, Durability) {
  const std::lock_guard lock(mutex_);
  for (const StoredRecord& record : records) Keep(record);
  return {};
}

Status MemoryStore::Replace(const StoredRecord& heading, std::uint64_t first_batch) {
  const std::lock_guard lock(mutex_);
  headings_.clear();
  Keep(heading);
  slices_.erase(slices_.begin(), slices_.lower_bound({heading.generation, 0}));
  batches_.erase(batches_.begin(), batches_.lower_bound(first_batch));
  return {};
}

std::size_t MemoryStore::batches() const {
  const std::lock_guard lock(mutex_);
  return batches_.size();
}

std::size_t MemoryStore::slices() const {
  const std::lock_guard lock(mutex_);
  return slices_.size();
}

}  // namespace fairlock::storage
