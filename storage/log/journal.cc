#include "storage/log/journal.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace fairlock::storage {
namespace {

constexpr std::size_t kSpareWriters = 8;
constexpr std::size_t kSpareBytesMax = std::size_t{1} << 20;

void RaiseTo(std::atomic<std::uint64_t>& value, std::uint64_t at_least) {
  std::uint64_t seen = value.load(std::memory_order_relaxed);
  while (seen < at_least && !value.compare_exchange_weak(seen, at_least)) {
  }
}

}  // namespace

Journal::Journal(Store& store, const LogEnd& end, const JournalOptions& options, Wake wake)
    : store_(store),
      options_(options),
      wake_(std::move(wake)),
      open_batch_(end.next_batch),
      completed_(end.next_batch - 1),
      durable_(end.next_batch - 1),
      snapshot_(end.next_generation - 1) {
  chain_.end = end;
  chain_.newest = end.next_batch - 1;
  if (options.durability == Durability::kProcess) {
    flusher_ = std::make_unique<Flusher>(
        store, options.flush_interval,
        Flusher::Reports{.begins = [this] { flush_began_ns_ = ClockNs(); },
                         .synced =
                             [this](std::uint64_t batch) {
                               CountSync(flush_began_ns_);
                               RaiseTo(durable_, batch);
                             },
                         .failed = [this](const Status& status) { Fail(status); }});
  }
  thread_ = std::thread([this] { Run(); });
}

bool Journal::HandOver(Step step, RecordWriter* record, Durability at_least) {
  bool was_idle = false;
  has_handed_over_ = options_.awaits_begin;
  {
    const std::lock_guard lock(mutex_);
    assert(!is_stopping_);
    if (!failure_.ok()) {
      if (record != nullptr) record->Clear();
      return false;
    }
    RecordWriter content;
    if (record != nullptr) {
      depth_.bytes += record->size();
      if (!spare_.empty()) {
        content = std::move(spare_.back());
        spare_.pop_back();
      }
      std::swap(content, *record);
    }
    gathered_.push_back({.step = step, .at_least = at_least, .record = std::move(content)});
    ++depth_.records;
    was_idle = !options_.awaits_begin && std::exchange(is_idle_, false);
  }
  if (was_idle) has_work_.notify_one();
  return true;
}

void Journal::Begin() {
  if (!has_handed_over_ || completed_.load() < begun_batch_) return;
  has_handed_over_ = false;
  bool was_idle = false;
  {
    const std::lock_guard lock(mutex_);
    is_begun_ = !gathered_.empty();
    was_idle = is_begun_ && std::exchange(is_idle_, false);
  }
  begun_batch_ = open_batch_ - 1;
  if (was_idle) has_work_.notify_one();
}

Appended Journal::Append(RecordWriter& batch, AppendMode mode) {
  const std::uint64_t began_ns = mode == AppendMode::kAtOnce ? ClockNs() : 0;
  if (mode == AppendMode::kAtOnce && MayWriteAtOnce(batch.size(), began_ns)) {
    const bool is_complete = WriteAtOnce(batch, began_ns);
    return {.batch = open_batch_++, .is_complete = is_complete};
  }
  const bool is_durable = mode == AppendMode::kDurable;
  const Durability at_least = is_durable ? Durability::kMachine : Durability::kProcess;
  if (!HandOver(Step::kBatch, &batch, at_least)) return {};
  return {.batch = open_batch_++};
}

std::uint64_t Journal::Confirm() {
  {
    const std::lock_guard lock(mutex_);
    const bool is_one_waiting = std::ranges::any_of(gathered_, [](const Item& item) {
      return item.step == Step::kBatch || item.step == Step::kConfirm;
    });
    if (is_one_waiting) return open_batch_ - 1;
  }
  return HandOver(Step::kConfirm, nullptr, Durability::kProcess) ? open_batch_++ : 0;
}

bool Journal::MayWriteAtOnce(std::size_t bytes, std::uint64_t now_ns) const {
  if (!options_.monotonic_ns || flusher_ == nullptr || flusher_->is_syncing()) return false;
  if (bytes > options_.at_once_bytes_max || now_ns < at_once_from_ns_) return false;
  const std::lock_guard lock(mutex_);
  return is_idle_ && failure_.ok();
}

// Returns whether the batch is complete, and was written quickly.
bool Journal::WriteAtOnce(RecordWriter& batch, std::uint64_t began_ns) {
  std::swap(at_once_.record, batch);
  SealRecord(at_once_);
  const Status status = WriteRecords();
  at_once_.record.Clear();
  const bool was_quick = at_once_from_ns_.load() <= began_ns;
  if (!status.ok()) {
    Fail(status);
  } else if (!was_quick) {
    WakeLoop();
  }
  return status.ok() && was_quick;
}

void Journal::JudgeWrite(std::uint64_t began_ns) {
  const std::uint64_t took_ns = ClockNs() - began_ns;
  const bool is_quick = took_ns <= static_cast<std::uint64_t>(options_.quick_max.count());
  is_quick_.store(is_quick, std::memory_order_relaxed);
  if (!is_quick) at_once_from_ns_ = began_ns + took_ns * (1 + options_.at_once_pause);
}

void Journal::BeginSnapshot() { HandOver(Step::kBegin, nullptr, Durability::kProcess); }

void Journal::AppendSlice(RecordWriter& slice) {
  HandOver(Step::kSlice, &slice, Durability::kProcess);
}

void Journal::FinishSnapshot() { HandOver(Step::kFinish, nullptr, Durability::kMachine); }

JournalProgress Journal::Look() {
  // Clears the flag before reading the values, so that a later change wakes the loop again.
  was_woken_.store(false);
  return {.completed_batch = completed_.load(),
          .durable_batch = durable_.load(),
          .snapshot = snapshot_.load(),
          .has_failed = has_failed_.load()};
}

JournalDepth Journal::depth() const {
  const std::lock_guard lock(mutex_);
  return depth_;
}

SyncTimes Journal::sync_times() const {
  return {.count = syncs_.load(), .sum_ns = syncs_ns_.load()};
}

void Journal::CountSync(std::uint64_t began_ns) {
  ++syncs_;
  syncs_ns_ += ClockNs() - began_ns;
}

Status Journal::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

bool Journal::AwaitWritten(std::int64_t ms_max) {
  std::unique_lock lock(mutex_);
  is_awaited_ = true;
  has_work_.notify_one();
  const bool is_written = has_written_.wait_for(lock, std::chrono::milliseconds(ms_max), [this] {
    return depth_.records == 0 || !failure_.ok();
  });
  is_awaited_ = false;
  return is_written;
}

void Journal::Stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  has_work_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Journal::Run() {
  std::vector<Item> items;
  while (TakeGathered(items)) {
    const Status status = WriteAll(items);
    if (!status.ok()) {
      Fail(status);
      break;
    }
    Recycle(items);
  }
  // The flusher may be stopped during its pause, so unsynced writes are synced here.
  if (flusher_ != nullptr) flusher_->Stop();
  if (durable_.load() == completed_.load() || has_failed_.load()) return;
  const Status status = store_.Sync();
  if (!status.ok()) return Fail(status);
  RaiseTo(durable_, completed_.load());
}

bool Journal::TakeGathered(std::vector<Item>& items) {
  std::unique_lock lock(mutex_);
  const auto may_take = [this] {
    const bool is_begun = is_begun_ || is_awaited_ || !options_.awaits_begin || !is_quick();
    return (is_begun && !gathered_.empty()) || is_stopping_ || !failure_.ok();
  };
  if (!may_take()) {
    is_idle_ = true;
    has_work_.wait(lock, may_take);
    is_idle_ = false;
  }
  is_begun_ = false;
  items.swap(gathered_);
  return !items.empty() && failure_.ok();
}

Status Journal::WriteAll(std::vector<Item>& items) {
  for (Item& item : items) {
    Status status = WriteItem(item);
    if (!status.ok()) return status;
  }
  return WriteRecordsAndWake();
}

Status Journal::WriteItem(Item& item) {
  Status status;
  switch (item.step) {
    case Step::kBatch:
    case Step::kSlice:
      SealRecord(item);
      // A sealed record is a view into its item, and the items stay in memory until all are
      // written.
      if (chain_.bytes >= options_.group_bytes_max) return WriteRecordsAndWake();
      return status;
    case Step::kConfirm:
      ++chain_.newest;
      chain_.confirms = true;
      return status;
    case Step::kBegin:
      chain_.heading = {.log_id = chain_.end.log_id,
                        .generation = chain_.end.next_generation++,
                        .first_batch = chain_.end.next_batch,
                        .checksum_before = chain_.end.checksum};
      chain_.heading.last_slice_checksum =
          ChainStart(View(chain_.end.log_id), chain_.heading.generation);
      return status;
    case Step::kFinish:
      status = WriteRecordsAndWake();
      return status.ok() ? WriteHeading() : status;
  }
  return status;
}

void Journal::SealRecord(Item& item) {
  StoredRecord stored;
  if (item.step == Step::kBatch) {
    stored.number = chain_.end.next_batch++;
    stored.bytes = item.record.Seal(RecordKind::kBatch, stored.number, chain_.end.checksum);
    chain_.end.checksum = item.record.checksum();
    ++chain_.newest;
  } else {
    SnapshotHeading& heading = chain_.heading;
    stored.kind = RecordKind::kSlice;
    stored.generation = heading.generation;
    stored.number = heading.slices++;
    stored.bytes = item.record.Seal(RecordKind::kSlice, stored.number, heading.last_slice_checksum);
    heading.last_slice_checksum = item.record.checksum();
  }
  chain_.records.push_back(stored);
  chain_.bytes += stored.bytes.size();
  chain_.durability = std::max(chain_.durability, item.at_least);
}

Status Journal::WriteRecords() {
  if (chain_.records.empty() && !chain_.confirms) return {};
  const Durability durability = std::max(chain_.durability, options_.durability);
  const std::uint64_t began_ns = ClockNs();
  Status status = store_.Append(chain_.records, durability);
  JudgeWrite(began_ns);
  chain_.records.clear();
  chain_.bytes = 0;
  chain_.durability = Durability::kProcess;
  chain_.confirms = false;
  if (!status.ok()) return status;
  const std::uint64_t newest = chain_.newest;
  if (durability == Durability::kMachine) {
    CountSync(began_ns);
    RaiseTo(durable_, newest);
  } else if (flusher_ != nullptr) {
    flusher_->NotifyWritten(newest);
  }
  // Stored last, so that a thread that sees a batch as complete also sees its durability.
  completed_.store(newest);
  return status;
}

Status Journal::WriteRecordsAndWake() {
  const std::uint64_t completed = completed_.load();
  Status status = WriteRecords();
  if (completed_.load() != completed) WakeLoop();
  return status;
}

Status Journal::WriteHeading() {
  RecordWriter writer;
  const std::uint64_t generation = chain_.heading.generation;
  Status status = store_.Replace({.kind = RecordKind::kHeading,
                                  .generation = generation,
                                  .number = generation,
                                  .bytes = EncodeHeading(chain_.heading, writer)},
                                 chain_.heading.first_batch);
  if (!status.ok()) return status;
  snapshot_.store(generation);
  WakeLoop();
  return status;
}

void Journal::Recycle(std::vector<Item>& items) {
  const std::lock_guard lock(mutex_);
  for (Item& item : items) {
    --depth_.records;
    if (item.step != Step::kBatch && item.step != Step::kSlice) continue;
    depth_.bytes -= item.record.size() - kRecordSealBytes;
    if (spare_.size() < kSpareWriters && item.record.size() <= kSpareBytesMax) {
      item.record.Clear();
      spare_.push_back(std::move(item.record));
    }
  }
  items.clear();
  if (depth_.records == 0) has_written_.notify_all();
}

void Journal::Fail(const Status& status) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.ok()) return;
    failure_ = status;
    has_failed_.store(true);
  }
  has_work_.notify_one();
  has_written_.notify_all();
  WakeLoop();
}

void Journal::WakeLoop() {
  if (!was_woken_.exchange(true)) wake_();
}

}  // namespace fairlock::storage
