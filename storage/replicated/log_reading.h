// Reads the log of a partition: the heading of its snapshot, then frame after frame.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/etcd/requests.h"
#include "storage/log/load_log.h"
#include "storage/log/store.h"
#include "storage/records/snapshot_heading.h"
#include "storage/replicated/frame.h"
#include "storage/replicated/frame_writer.h"

namespace fairlock::storage::replicated {

// What a group of frames contains. This is used to find the first frame that a snapshot needs.
struct FrameGroup {
  std::uint64_t first_frame = 0;
  std::uint64_t newest_batch = 0;  // the newest batch in this group and all before it
  // The generation of the newest slice in it; 0 if there is none.
  std::uint64_t slice_generation = 0;
};

// The groups since the first frame of the newest snapshot.
class FrameGroups {
 public:
  void Add(std::uint64_t first_frame, std::span<const StoredRecord> records);
  // The first frame that the snapshot of this generation needs; `end` if it needs none of these
  // groups. Forgets the groups before that frame.
  std::uint64_t FirstFrameOf(std::uint64_t generation, std::uint64_t first_batch,
                             std::uint64_t end);
  void ForgetBefore(std::uint64_t frame);

 private:
  std::deque<FrameGroup> groups_;
};

// The value to store under the heading's key: the first frame that the snapshot needs, then the
// heading.
std::string HeadingValue(std::uint64_t first_frame, const StoredRecord& heading);

struct StoredHeading {
  std::uint64_t first_frame = 0;
  StoredRecord record;  // a view of a part of the value
  SnapshotHeading decoded;
};
// Decodes such a value, which must outlive the result.
Result<StoredHeading> ParseHeadingValue(std::string_view value, const PartitionKeys& keys);

// Identifies a frame without its content.
struct FrameMark {
  std::uint64_t number = 0;
  std::int64_t mod_revision = 0;
  std::uint64_t hash = 0;  // the hash of the value

  friend bool operator==(const FrameMark&, const FrameMark&) = default;
};

FrameMark MarkOf(std::uint64_t number, const etcd::KeyValue& frame);

// The maximum size of the batches that a LogReading keeps.
inline constexpr std::size_t kKeptBytesMax = std::size_t{64} << 20;

// Passes on the heading, then the slices of its snapshot, then the batches. In the log, the slices
// lie between the batches, so batches are kept in memory until the last slice has been read; from
// then on, every record is passed on as soon as its group is complete. Records of a group that is
// never completed are not passed on.
//
// If more than `kept_bytes_max` of batches lie before the last slice, the rest of them is read
// again: next_frame goes back once, after the last slice.
class LogReading {
 public:
  // `sink` must outlive the reading.
  LogReading(const PartitionKeys& keys, RecordSink& sink,
             std::size_t kept_bytes_max = kKeptBytesMax)
      : keys_(keys), sink_(sink), kept_bytes_max_(kept_bytes_max) {}

  // REQUIRES: no heading was taken.
  Status TakeHeading(const std::string& value);
  // The value of the heading's key; empty before TakeHeading.
  const std::string& heading_value() const { return heading_.value; }
  std::uint64_t generation() const { return heading_.decoded.generation; }
  // Continues with the heading of a newer snapshot, whose slices have all been passed on. `reader`
  // must be the sink. An error means that it does not continue what was read; then nothing has
  // changed.
  Status ReplaceHeading(const std::string& value, LogReader& reader);
  // Whether the last slice, and every batch that was read, has been passed on.
  bool is_whole() const { return HasAllSlices() && kept_.batches.empty() && !is_going_back(); }
  // The first frame that the snapshot needs. Earlier ones are deleted.
  std::uint64_t first_frame() const { return heading_.first_frame; }
  // Fails if this is not the frame `next_frame`.
  Status TakeFrame(const etcd::KeyValue& frame);
  std::uint64_t next_frame() const { return next_frame_; }
  // The frame that was taken last; its number is 0 if none was.
  const FrameMark& last_frame() const { return last_frame_; }
  // Call this at the end of the log. Passes on the batches even if a slice is missing, so that the
  // sink can report that.
  Status FinishSlices();

  FrameGroups TakeGroups() { return std::move(groups_of_log_); }

 private:
  struct Batch {
    std::uint64_t number = 0;
    std::string bytes;
  };
  class Group;

  Status TakeGroup();
  Status TakeRecord(const StoredRecord& record);
  Status TakeSlice(const StoredRecord& record);
  bool HasAllSlices() const { return slices_ == heading_.decoded.slices; }
  bool is_going_back() const { return kept_.end != 0 || next_frame_ < again_until_; }
  void Keep(const StoredRecord& batch);
  void GoBack();

  const PartitionKeys& keys_;
  RecordSink& sink_;
  const std::size_t kept_bytes_max_;
  struct {
    std::string value;
    SnapshotHeading decoded;
    std::uint64_t first_frame = 0;
  } heading_;
  std::uint64_t next_frame_ = 0;
  FrameMark last_frame_;
  std::uint64_t slices_ = 0;  // the number of slices of the heading's snapshot
  GroupReader groups_;
  std::uint64_t group_begins_at_ = 0;
  struct {
    std::vector<Batch> batches;
    std::size_t bytes = 0;
    std::uint64_t end = 0;  // the first frame of the batches that were not kept; 0 if all were
  } kept_;                  // while slices are missing
  std::uint64_t again_until_ = 0;  // only batches are new in the frames before this one
  FrameGroups groups_of_log_;
};

// The part of a log that exists at one revision of etcd.
struct PinnedLog {
  std::int64_t revision = 0;
  std::uint64_t end = 1;  // the number of the last frame, plus 1
};

struct PageReader {
  std::function<Result<etcd::RangeAnswer>(const etcd::Get&)> read;
  // Called between two pages.
  std::function<Status()> between = [] { return Status(); };
  // The number of frames of the first page. If its frames are small, the next one has twice as
  // many.
  std::int64_t frames_per_page = 16;
};

// A page takes at least one round trip. The frames of this many pages, each with one small change,
// take about as long to read as their bytes. Even with the largest frames, a page is below the
// limit of 256 MiB for an answer of etcd.
inline constexpr std::int64_t kFramesOfAPageMax = 128;
inline constexpr std::size_t kSmallPageBytes = std::size_t{64} << 10;

// The value of the heading's key; empty if the log does not exist yet.
Result<std::string> ReadHeading(const PageReader& pages, const PartitionKeys& keys,
                                std::int64_t revision);
// Takes the frames from next_frame to the end of the log. REQUIRES: the heading was taken.
Status ReadFrames(const PageReader& pages, const PartitionKeys& keys, const PinnedLog& log,
                  LogReading& reading);

}  // namespace fairlock::storage::replicated
