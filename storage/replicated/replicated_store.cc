#include "storage/replicated/replicated_store.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "storage/byte_coding.h"

namespace fairlock::storage::replicated {

namespace {

Status Deposed(std::string message) { return {StatusCode::kDeposed, std::move(message)}; }

// The value of the heading's key: the first frame that the snapshot needs, then the heading.
std::string HeadingValue(std::uint64_t first_frame, const StoredRecord& heading) {
  std::string value(sizeof first_frame, '\0');
  WriteFixed(value.data(), first_frame);
  char numbers[2 * kVarintBytesMax];
  char* const end = WriteVarint(WriteVarint(numbers, heading.generation), heading.number);
  return value.append(numbers, static_cast<std::size_t>(end - numbers)).append(heading.bytes);
}

}  // namespace

// Reads the heading and then the frames at one revision. Batches are passed on when all slices are,
// so they stay in memory until then.
class ReplicatedStore::Loading final : public RecordSink {
 public:
  Loading(ReplicatedStore& store, RecordSink& sink)
      : store_(store), sink_(sink), keys_(store.writer_.keys()) {}

  Status Run() {
    revision_ = store_.writer_.committed().revision;
    const std::uint64_t end = store_.writer_.committed().beat.next_frame;
    Status status = ReadHeading();
    if (!status.ok() || next_frame_ == 0) return status;
    while (next_frame_ < end) {
      status = ReadFrames(end);
      // The standbys must hear this leader during a long load.
      if (status.ok()) status = store_.Commit({});
      if (!status.ok()) return status;
    }
    for (const Batch& batch : batches_) {
      status = sink_.Take({RecordKind::kBatch, 0, batch.number, batch.bytes});
      if (!status.ok()) return status;
    }
    return {};
  }

  Status Take(const StoredRecord& record) override {
    records_.push_back(record);
    if (record.kind != RecordKind::kBatch) return sink_.Take(record);
    batches_.push_back({record.number, std::string(record.bytes)});
    return {};
  }

 private:
  struct Batch {
    std::uint64_t number = 0;
    std::string bytes;
  };

  Status ReadHeading() {
    auto answer = store_.Read({.key = keys_.heading, .range_end = {}, .revision = revision_});
    if (!answer.ok()) return answer.status();
    if (answer->found.empty()) {
      const bool is_new = store_.writer_.committed().beat.next_frame == 1;
      return is_new ? Status() : Damaged("the key " + keys_.heading + " is missing");
    }
    ByteReader bytes(answer->found.front().value);
    next_frame_ = bytes.Fixed<std::uint64_t>();
    StoredRecord heading;
    heading.kind = RecordKind::kHeading;
    heading.generation = bytes.Varint();
    heading.number = bytes.Varint();
    heading.bytes = bytes.Bytes(bytes.rest_bytes());
    if (!bytes.ok() || next_frame_ == 0) return Damaged("the key " + keys_.heading + " is damaged");
    return sink_.Take(heading);
  }

  Status ReadFrames(std::uint64_t end) {
    auto answer = store_.Read({.key = keys_.FrameKey(next_frame_),
                               .range_end = keys_.FrameKey(end),
                               .limit = store_.options_.frames_per_read,
                               .revision = revision_});
    if (!answer.ok()) return answer.status();
    if (answer->found.empty()) return Missing();
    for (const etcd::KeyValue& found : answer->found) {
      if (found.key != keys_.FrameKey(next_frame_)) return Missing();
      Status status = TakeFrame(found.value);
      if (!status.ok()) return status;
    }
    return {};
  }

  Status TakeFrame(const std::string& frame) {
    const std::string name = NameOfNext();
    Status status = groups_.Add(frame, name);
    if (!status.ok()) return status;
    if (groups_.begins()) group_begins_at_ = next_frame_;
    ++next_frame_;
    if (!groups_.is_complete()) return {};
    status = ReadRecords(groups_.group(), *this);
    store_.RememberGroup(group_begins_at_, records_);
    records_.clear();
    return status;
  }

  std::string NameOfNext() const { return "frame " + std::to_string(next_frame_); }
  Status Missing() const { return Damaged(NameOfNext() + " is missing"); }

  ReplicatedStore& store_;
  RecordSink& sink_;
  const PartitionKeys& keys_;
  std::int64_t revision_ = 0;
  std::uint64_t next_frame_ = 0;  // 0: the log does not exist yet
  GroupReader groups_;
  std::uint64_t group_begins_at_ = 0;
  std::vector<StoredRecord> records_;  // of the group; views into it
  std::vector<Batch> batches_;
};

ReplicatedStore::ReplicatedStore(etcd::EtcdClient& client, FrameWriter& writer,
                                 const ReplicatedStoreOptions& options)
    : client_(client), writer_(writer), options_(options) {}

Status ReplicatedStore::Load(RecordSink& sink) {
  is_loading_ = true;
  Status status = Loading(*this, sink).Run();
  is_loading_ = false;
  return status;
}

Result<bool> ReplicatedStore::HasHeading() {
  // At the revision of the take-over: another node may have taken over since, and begun the log.
  auto answer = Read(
      {.key = writer_.keys().heading, .range_end = {}, .revision = writer_.committed().revision});
  if (!answer.ok()) return answer.status();
  return !answer->found.empty();
}

// Repeats the read until it is answered.
Result<etcd::RangeAnswer> ReplicatedStore::Read(const etcd::Get& get) {
  for (;;) {
    etcd::RangeAnswer answer = client_.Range(get, options_.call_timeout);
    if (answer.outcome == etcd::Outcome::kDone) return answer;
    // Only a leader compacts, so there is another one.
    if (answer.outcome == etcd::Outcome::kCompacted) return Deposed(answer.message);
    if (answer.outcome == etcd::Outcome::kFailed) return Failed(answer.message);
    Status status = Pause(answer.message);
    if (!status.ok()) return status;
  }
}

Status ReplicatedStore::Append(std::span<const StoredRecord> records, Durability) {
  if (records.empty()) return Commit({});
  group_.clear();
  for (const StoredRecord& record : records) AppendRecord(group_, record);
  const std::uint64_t first_frame = writer_.committed().beat.next_frame;
  for (std::string& frame : FramesOf(group_, options_.frame_bytes_max)) {
    GuardedWrite write;
    write.frames.push_back(std::move(frame));
    Status status = Commit(write);
    if (!status.ok()) return status;
  }
  RememberGroup(first_frame, records);
  return {};
}

Status ReplicatedStore::Replace(const StoredRecord& heading, std::uint64_t first_batch) {
  const std::uint64_t first_frame = FirstFrameOf(heading.generation, first_batch);
  Status status =
      Commit({.heading = HeadingValue(first_frame, heading), .first_frame = first_frame});
  if (status.ok() && options_.compact_every != 0) CompactAt(writer_.committed().revision);
  return status;
}

Status ReplicatedStore::HandOver(const std::string& successor) {
  return Commit({.state = Beat::State::kHandedOver, .successor = successor});
}

Status ReplicatedStore::Commit(const GuardedWrite& write) {
  writer_.Write(write);
  for (;;) {
    const etcd::TxnAnswer answer = client_.Transact(writer_.txn(), options_.call_timeout);
    switch (writer_.Take(answer)) {
      case FrameWriter::Progress::kCommitted: {
        const std::int64_t revision = writer_.committed().revision;
        const bool is_due = options_.compact_every != 0 && !is_loading_ &&
                            revision - compacted_revision_ > options_.compact_every;
        if (is_due) CompactAt(revision);
        return {};
      }
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

// Before the next attempt.
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

void ReplicatedStore::RememberGroup(std::uint64_t first_frame,
                                    std::span<const StoredRecord> records) {
  Group group{.first_frame = first_frame,
              .newest_batch = groups_.empty() ? 0 : groups_.back().newest_batch};
  for (const StoredRecord& record : records) {
    if (record.kind == RecordKind::kBatch) {
      group.newest_batch = std::max(group.newest_batch, record.number);
    } else if (record.kind == RecordKind::kSlice) {
      group.slice_generation = std::max(group.slice_generation, record.generation);
    }
  }
  groups_.push_back(group);
}

std::uint64_t ReplicatedStore::FirstFrameOf(std::uint64_t generation, std::uint64_t first_batch) {
  const auto is_needed = [&](const Group& group) {
    return group.newest_batch >= first_batch ||
           (generation != 0 && group.slice_generation == generation);
  };
  while (!groups_.empty() && !is_needed(groups_.front())) groups_.pop_front();
  return groups_.empty() ? writer_.committed().beat.next_frame : groups_.front().first_frame;
}

// Of no consequence if it fails: the next one discards what this one did not.
void ReplicatedStore::CompactAt(std::int64_t revision) {
  client_.Compact(revision, options_.call_timeout);
  compacted_revision_ = revision;
}

}  // namespace fairlock::storage::replicated
