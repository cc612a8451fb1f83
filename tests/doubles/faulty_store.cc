#include "tests/doubles/faulty_store.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "tests/doubles/memory_store.h"

namespace fairlock::storage {

Status FaultyStore::Load(RecordSink& sink) {
  MemoryStore content;
  {
    const std::lock_guard lock(mutex_);
    for (const Step& step : steps_) {
      for (const OwnedRecord& owned : step.records) {
        StoredRecord record = owned.name;
        record.bytes = owned.bytes;
        const Status kept = step.is_replacement
                                ? content.Replace(record, step.first_batch)
                                : content.Append({&record, 1}, Durability::kMachine);
        if (!kept.ok()) return kept;
      }
    }
  }
  return content.Load(sink);
}

Status FaultyStore::Append(std::span<const StoredRecord> records, Durability durability) {
  Step step;
  for (const StoredRecord& record : records) {
    step.records.push_back({.name = record, .bytes = std::string(record.bytes)});
  }
  return Write(std::move(step), durability);
}

Status FaultyStore::Replace(const StoredRecord& heading, std::uint64_t first_batch) {
  Step step;
  step.records.push_back({.name = heading, .bytes = std::string(heading.bytes)});
  step.is_replacement = true;
  step.first_batch = first_batch;
  return Write(std::move(step), Durability::kMachine);
}

Status FaultyStore::Judge() {
  ++writes_;
  return failing_write_ != 0 && writes_ >= failing_write_ ? failure_ : Status();
}

Status FaultyStore::Write(Step step, Durability durability) {
  const std::lock_guard lock(mutex_);
  Status status = Judge();
  if (status.ok() || (leaves_its_bytes_ && writes_ == failing_write_)) {
    steps_.push_back(std::move(step));
  }
  if (status.ok() && durability == Durability::kMachine) synced_ = steps_.size();
  return status;
}

Status FaultyStore::Sync() {
  const std::lock_guard lock(mutex_);
  Status status = Judge();
  if (status.ok()) synced_ = steps_.size();
  return status;
}

void FaultyStore::FailWrite(std::uint64_t k, Status status, bool leaves_its_bytes) {
  assert(k > 0 && !status.ok());
  const std::lock_guard lock(mutex_);
  failing_write_ = writes_ + k;
  failure_ = std::move(status);
  leaves_its_bytes_ = leaves_its_bytes;
}

void FaultyStore::CrashProcess() { CrashMachine({.unsynced_kept = unsynced()}); }

void FaultyStore::CrashMachine(Crash crash) {
  const std::lock_guard lock(mutex_);
  steps_.resize(std::min(steps_.size(), synced_ + crash.unsynced_kept));
  if (crash.tears_last && !steps_.empty()) {
    std::string& bytes = steps_.back().records.back().bytes;
    bytes.resize(bytes.size() / 2);
  }
  synced_ = steps_.size();
  failing_write_ = 0;
}

std::uint64_t FaultyStore::writes() const {
  const std::lock_guard lock(mutex_);
  return writes_;
}

std::size_t FaultyStore::unsynced() const {
  const std::lock_guard lock(mutex_);
  return steps_.size() - synced_;
}

}  // namespace fairlock::storage
