// Frames: the values in etcd that make up the replicated log.
//
// Records are written in groups, and a group takes effect as a whole. It consists of its records,
// one after the other; a group that is too large for one value is cut into several frames. The last
// frame completes the group, so a group whose last frame is missing was never acknowledged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/log/store.h"

namespace fairlock::storage::replicated {

// The maximum size of a whole frame. By default, etcd accepts requests of up to 1.5 MiB.
inline constexpr std::size_t kFrameBytesMax = std::size_t{1} << 20;

// The maximum size of a group. What is written is much smaller, so a reader takes a longer group
// for damage instead of filling its memory with it.
inline constexpr std::size_t kGroupBytesMax = std::size_t{1} << 30;

// Appends the encoded record to the bytes of a group.
void AppendRecord(std::string& group, const StoredRecord& record);

// Cuts a group into frames, each with a checksum. A group without records becomes one frame without
// content.
std::vector<std::string> FramesOf(std::string_view group,
                                  std::size_t frame_bytes_max = kFrameBytesMax);

// Passes on the records of a group. Returns the status of the sink, or kDamaged.
Status ReadRecords(std::string_view group, RecordSink& sink);

// Reassembles groups from the frames of a log, which must be added in their order.
class GroupReader {
 public:
  explicit GroupReader(std::size_t group_bytes_max = kGroupBytesMax)
      : group_bytes_max_(group_bytes_max) {}

  // Adds the next frame. `name` is its name in messages.
  Status Add(std::string_view frame, std::string_view name);
  // Whether the frame was the first of its group.
  bool begins() const { return begins_; }
  // Whether the frame completed a group, which is then available until the next Add.
  bool is_complete() const { return is_complete_; }
  // Whether frames of a group were added, but not its last one.
  bool is_open() const { return is_open_; }
  const std::string& group() const { return group_; }

 private:
  const std::size_t group_bytes_max_;
  std::string group_;
  bool is_open_ = false;  // a group has begun and is not complete
  bool begins_ = false;
  bool is_complete_ = false;
};

}  // namespace fairlock::storage::replicated
