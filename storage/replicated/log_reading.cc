#include "storage/replicated/log_reading.h"

#include <xxhash.h>

#include <algorithm>
#include <cassert>

#include "storage/byte_coding.h"

namespace fairlock::storage::replicated {

namespace {

std::string FrameName(std::uint64_t number) { return "frame " + std::to_string(number); }
Status MissingFrame(std::uint64_t number) { return Damaged(FrameName(number) + " is missing"); }

}  // namespace

void FrameGroups::Add(std::uint64_t first_frame, std::span<const StoredRecord> records) {
  FrameGroup group{.first_frame = first_frame,
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

std::uint64_t FrameGroups::FirstFrameOf(std::uint64_t generation, std::uint64_t first_batch,
                                        std::uint64_t end) {
  const auto is_needed = [&](const FrameGroup& group) {
    return group.newest_batch >= first_batch ||
           (generation != 0 && group.slice_generation == generation);
  };
  while (!groups_.empty() && !is_needed(groups_.front())) groups_.pop_front();
  return groups_.empty() ? end : groups_.front().first_frame;
}

void FrameGroups::ForgetBefore(std::uint64_t frame) {
  while (!groups_.empty() && groups_.front().first_frame < frame) groups_.pop_front();
}

FrameMark MarkOf(std::uint64_t number, const etcd::KeyValue& frame) {
  return {.number = number,
          .mod_revision = frame.mod_revision,
          .hash = XXH3_64bits(frame.value.data(), frame.value.size())};
}

std::string HeadingValue(std::uint64_t first_frame, const StoredRecord& heading) {
  std::string value(sizeof first_frame, '\0');
  WriteFixed(value.data(), first_frame);
  char numbers[2 * kVarintBytesMax];
  char* const end = WriteVarint(WriteVarint(numbers, heading.generation), heading.number);
  return value.append(numbers, static_cast<std::size_t>(end - numbers)).append(heading.bytes);
}

Result<StoredHeading> ParseHeadingValue(std::string_view value, const PartitionKeys& keys) {
  ByteReader bytes(value);
  StoredHeading heading{.first_frame = bytes.Fixed<std::uint64_t>(), .record = {}, .decoded = {}};
  heading.record.kind = RecordKind::kHeading;
  heading.record.generation = bytes.Varint();
  heading.record.number = bytes.Varint();
  heading.record.bytes = bytes.Bytes(bytes.rest_bytes());
  if (!bytes.ok() || heading.first_frame == 0) {
    return Damaged("the key " + keys.heading + " is damaged");
  }
  auto decoded = DecodeHeading(heading.record.bytes, heading.record.generation);
  if (!decoded.ok()) return decoded.status();
  heading.decoded = decoded.value();
  return heading;
}

Status LogReading::TakeHeading(const std::string& value) {
  assert(heading_.value.empty());
  const auto heading = ParseHeadingValue(value, keys_);
  if (!heading.ok()) return heading.status();
  heading_ = {.value = value, .decoded = heading->decoded, .first_frame = heading->first_frame};
  next_frame_ = heading->first_frame;
  return sink_.Take(heading->record);
}

Status LogReading::ReplaceHeading(const std::string& value, LogReader& reader) {
  const auto heading = ParseHeadingValue(value, keys_);
  if (!heading.ok()) return heading.status();
  const bool continues = is_whole() && !groups_.is_open() &&
                         heading->first_frame >= first_frame() &&
                         heading->first_frame <= next_frame_;
  if (!continues) return Damaged("the snapshot does not continue what was read");
  Status status = reader.ReplaceHeading(heading->record);
  if (!status.ok()) return status;
  heading_ = {.value = value, .decoded = heading->decoded, .first_frame = heading->first_frame};
  slices_ = heading->decoded.slices;
  groups_of_log_.ForgetBefore(heading_.first_frame);
  return {};
}

// Passes on the records of one group, and records their names.
class LogReading::Group final : public RecordSink {
 public:
  explicit Group(LogReading& reading) : reading_(reading) {}

  Status Take(const StoredRecord& record) override {
    records_.push_back(record);
    return reading_.TakeRecord(record);
  }
  const std::vector<StoredRecord>& records() const { return records_; }

 private:
  LogReading& reading_;
  std::vector<StoredRecord> records_;
};

Status LogReading::TakeFrame(const etcd::KeyValue& frame) {
  if (frame.key != keys_.FrameKey(next_frame_)) return MissingFrame(next_frame_);
  Status status = groups_.Add(frame.value, FrameName(next_frame_));
  if (!status.ok()) return status;
  last_frame_ = MarkOf(next_frame_, frame);
  if (groups_.begins()) group_begins_at_ = next_frame_;
  ++next_frame_;
  return groups_.is_complete() ? TakeGroup() : Status();
}

Status LogReading::TakeGroup() {
  const bool is_full = !HasAllSlices() && kept_.bytes >= kept_bytes_max_;
  if (is_full && kept_.end == 0) kept_.end = group_begins_at_;
  Group group(*this);
  Status status = ReadRecords(groups_.group(), group);
  if (group_begins_at_ >= again_until_) groups_of_log_.Add(group_begins_at_, group.records());
  if (status.ok() && HasAllSlices() && kept_.end != 0) GoBack();
  return status;
}

Status LogReading::TakeRecord(const StoredRecord& record) {
  if (record.kind != RecordKind::kBatch) return TakeSlice(record);
  if (kept_.end != 0) return {};
  if (HasAllSlices()) return sink_.Take(record);
  Keep(record);
  return {};
}

Status LogReading::TakeSlice(const StoredRecord& record) {
  if (group_begins_at_ < again_until_) return {};
  Status status = sink_.Take(record);
  if (!status.ok()) return status;
  const bool is_of_heading =
      record.kind == RecordKind::kSlice && record.generation == heading_.decoded.generation;
  if (!is_of_heading) return {};
  ++slices_;
  return HasAllSlices() ? FinishSlices() : Status();
}

void LogReading::Keep(const StoredRecord& batch) {
  kept_.batches.push_back({batch.number, std::string(batch.bytes)});
  kept_.bytes += sizeof(Batch) + batch.bytes.size();
}

void LogReading::GoBack() {
  again_until_ = next_frame_;
  next_frame_ = std::exchange(kept_.end, 0);
}

Status LogReading::FinishSlices() {
  for (const Batch& batch : std::exchange(kept_.batches, {})) {
    Status status = sink_.Take({RecordKind::kBatch, 0, batch.number, batch.bytes});
    if (!status.ok()) return status;
  }
  return {};
}

Result<std::string> ReadHeading(const PageReader& pages, const PartitionKeys& keys,
                                std::int64_t revision) {
  auto answer = pages.read({.key = keys.heading, .range_end = {}, .revision = revision});
  if (!answer.ok()) return answer.status();
  return answer->found.empty() ? std::string() : std::move(answer->found.front().value);
}

Status ReadFrames(const PageReader& pages, const PartitionKeys& keys, const PinnedLog& log,
                  LogReading& reading) {
  std::int64_t frames_per_page = pages.frames_per_page;
  while (reading.next_frame() < log.end) {
    // etcd visits every key of a range, whatever the limit. A range up to the end of the log would
    // make the reading quadratic.
    const std::uint64_t page_end =
        reading.next_frame() + static_cast<std::uint64_t>(frames_per_page);
    auto answer = pages.read({.key = keys.FrameKey(reading.next_frame()),
                              .range_end = keys.FrameKey(std::min(log.end, page_end)),
                              .limit = frames_per_page,
                              .revision = log.revision});
    if (!answer.ok()) return answer.status();
    if (answer->found.empty()) return MissingFrame(reading.next_frame());
    std::size_t page_bytes = 0;
    for (const etcd::KeyValue& found : answer->found) {
      page_bytes += found.value.size();
      Status status = reading.TakeFrame(found);
      if (!status.ok()) return status;
      const bool goes_back = reading.next_frame() <= keys.FrameNumber(found.key);
      if (goes_back) break;
    }
    if (page_bytes <= kSmallPageBytes) {
      frames_per_page = std::min(2 * frames_per_page, kFramesOfAPageMax);
    } else if (page_bytes > 16 * kSmallPageBytes) {
      frames_per_page = pages.frames_per_page;
    }
    Status status = pages.between();
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace fairlock::storage::replicated
