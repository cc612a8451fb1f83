#include "storage/replicated/replicated_store.h"

#include <cassert>
#include <thread>
#include <utility>

namespace fairlock::storage::replicated {

namespace {

Status Deposed(std::string message) { return {StatusCode::kDeposed, std::move(message)}; }

}  // namespace

ReplicatedStore::ReplicatedStore(etcd::EtcdClient& client, FrameWriter& writer,
                                 const ReplicatedStoreOptions& options)
    : client_(client), writer_(writer), options_(options) {}

Status ReplicatedStore::Load(RecordSink& sink) {
  const PinnedLog log{.revision = writer_.committed().revision,
                      .end = writer_.committed().beat.next_frame};
  const PartitionKeys& keys = writer_.keys();
  const PageReader pages{.read = [this](const etcd::Get& get) { return Read(get); },
                         // The standbys must hear from this leader during a long load.
                         .between = [this] { return Commit({}); },
                         .frames_per_page = options_.frames_per_read};
  auto heading = ReadHeading(pages, keys, log.revision);
  if (!heading.ok()) return heading.status();
  if (heading->empty()) {
    return log.end == 1 ? Status() : Damaged("the key " + keys.heading + " is missing");
  }
  LogReading reading(keys, sink);
  Status status = reading.TakeHeading(heading.value());
  if (status.ok()) status = ReadFrames(pages, keys, log, reading);
  if (status.ok()) status = reading.FinishSlices();
  groups_ = reading.TakeGroups();
  return status;
}

Result<bool> ReplicatedStore::HasHeading() {
  // Reads at the revision of the take-over, because another node may have taken over since then and
  // started the log.
  auto answer = Read(
      {.key = writer_.keys().heading, .range_end = {}, .revision = writer_.committed().revision});
  if (!answer.ok()) return answer.status();
  return !answer->found.empty();
}

// Repeats the read until it is answered. The leaders of other partitions discard etcd's history,
// which all partitions share. While this node leads and only beats, its log does not change, so it
// can be read at the revision of a new beat.
Result<etcd::RangeAnswer> ReplicatedStore::Read(etcd::Get get) {
  for (;;) {
    etcd::RangeAnswer answer = client_.Range(get, options_.call_timeout);
    if (answer.outcome == etcd::Outcome::kDone) return answer;
    if (answer.outcome == etcd::Outcome::kFailed) return Failed(answer.message);
    const bool is_compacted = answer.outcome == etcd::Outcome::kCompacted;
    Status status = is_compacted ? Commit({}) : Pause(answer.message);
    if (!status.ok()) return status;
    if (is_compacted) get.revision = writer_.committed().revision;
  }
}

Status ReplicatedStore::Append(std::span<const StoredRecord> records, Durability) {
  Status status = beats_.End();
  if (!status.ok()) return status;
  if (records.empty()) {
    status = Commit({});
    if (status.ok()) CompactIfDue();
    return status;
  }
  group_.clear();
  for (const StoredRecord& record : records) AppendRecord(group_, record);
  if (group_.size() > options_.group_bytes_max) {
    return Failed("one write has " + std::to_string(group_.size()) + " bytes, but at most " +
                  std::to_string(options_.group_bytes_max) + " are allowed");
  }
  const std::uint64_t first_frame = writer_.committed().beat.next_frame;
  for (std::string& frame : FramesOf(group_, options_.frame_bytes_max)) {
    GuardedWrite write;
    write.frames.push_back(std::move(frame));
    status = Commit(write);
    if (!status.ok()) return status;
  }
  groups_.Add(first_frame, records);
  CompactIfDue();
  return {};
}

Status ReplicatedStore::Replace(const StoredRecord& heading, std::uint64_t first_batch) {
  Status status = beats_.End();
  if (!status.ok()) return status;
  const std::uint64_t first_frame =
      groups_.FirstFrameOf(heading.generation, first_batch, writer_.committed().beat.next_frame);
  status = Commit({.heading = HeadingValue(first_frame, heading), .first_frame = first_frame});
  if (status.ok() && options_.compact_every != 0) CompactAt(writer_.committed().revision);
  return status;
}

Status ReplicatedStore::HandOver(const std::string& successor) {
  Status status = beats_.End();
  if (!status.ok()) return status;
  return Commit({.hands_over = true, .successor = successor});
}

void ReplicatedStore::BeginBeats(std::chrono::milliseconds every) {
  beats_.Begin([this] { return Commit({}); }, every);
}

Result<std::int64_t> ReplicatedStore::newest_write() const {
  Status status = beats_.failure();
  if (!status.ok()) return status;
  return committed_.revision.load();
}

Status ReplicatedStore::Commit(const GuardedWrite& write) {
  writer_.Write(write);
  for (;;) {
    const etcd::TxnAnswer answer = client_.Transact(writer_.txn(), options_.call_timeout);
    switch (writer_.Take(answer)) {
      case FrameWriter::Progress::kCommitted:
        committed_.revision = writer_.committed().revision;
        for (const std::string& frame : write.frames) committed_.bytes += frame.size();
        return {};
      case FrameWriter::Progress::kDeposed:
        return Deposed("node " + writer_.other().beat.leader + " leads, epoch " +
                       std::to_string(writer_.other().beat.epoch));
      case FrameWriter::Progress::kFailed:
        return Failed("etcd: " + answer.message);
      case FrameWriter::Progress::kRepeat:
        Status status = Pause(answer.message);
        if (!status.ok()) return status;
    }
  }
}

// Pauses before the next attempt. Fails if there must not be one.
Status ReplicatedStore::Pause(const std::string& error) {
  {
    const std::lock_guard lock(mutex_);
    last_error_ = error;
  }
  if (attempts_left_ != kUnlimited && attempts_left_-- <= 0) {
    return Deposed("this node gave up its leadership; " + error);
  }
  std::this_thread::sleep_for(options_.pause);
  return {};
}

std::string ReplicatedStore::LastError() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

// The beats during a load do not call this, because it would make the load repeat a read.
void ReplicatedStore::CompactIfDue() {
  const std::int64_t revision = writer_.committed().revision;
  const bool is_due =
      options_.compact_every != 0 && revision - compacted_revision_ > options_.compact_every;
  if (is_due) CompactAt(revision);
}

// A failure is harmless: the next compaction discards what this one did not.
void ReplicatedStore::CompactAt(std::int64_t revision) {
  client_.Compact(revision, options_.call_timeout);
  compacted_revision_ = revision;
}

void LoadingBeats::Begin(std::function<Status()> beat, std::chrono::milliseconds every) {
  assert(!thread_.joinable());
  thread_ = std::thread([this, beat = std::move(beat), every] { Run(beat, every); });
}

void LoadingBeats::Run(const std::function<Status()>& beat, std::chrono::milliseconds every) {
  for (int i = 0; i < kBeatsMax; ++i) {
    {
      std::unique_lock lock(mutex_);
      if (ended_.wait_for(lock, every, [this] { return is_ending_; })) return;
    }
    Status status = beat();
    if (status.ok()) continue;
    const std::lock_guard lock(mutex_);
    failure_ = std::move(status);
    return;
  }
}

Status LoadingBeats::End() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    ended_.notify_one();
    thread_.join();
  }
  return failure();
}

Status LoadingBeats::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace fairlock::storage::replicated
