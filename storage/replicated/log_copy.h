// A node's copy of the log of a partition: keeps track of what it has read, and reads the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "storage/log/load_log.h"
#include "storage/replicated/log_reading.h"

namespace fairlock::storage::replicated {

// Returns a sink without any rows, which replaces the sink that it returned before.
using NewSink = std::function<ChangeSink&()>;

// A copy of the log from its beginning up to some frame. Its sink has received the changes up to
// there, just as LoadLog would have passed them on. When a snapshot replaces the heading, a copy
// that has read the log up to there continues with the new heading, because the snapshot describes
// the state that it has. The copy starts over, with a new sink, when the log does not continue what
// was read. After etcd is restored from a backup, the log may contain different frames with the
// same numbers. A later batch would show that by its checksum. If there is no later batch yet, only
// the last frame shows it, so CatchUp compares that frame.
//
// Not thread-safe.
class LogCopy {
 public:
  // `keys` must outlive the copy.
  LogCopy(const PartitionKeys& keys, NewSink new_sink)
      : keys_(keys), new_sink_(std::move(new_sink)) {}

  // Reads what is missing. After a failure other than damage, it keeps what it has read so far, and
  // continues from there the next time.
  Status CatchUp(const PageReader& pages, const PinnedLog& log);
  // Takes a frame that was written later. If it is not the next one, this fails, and the next
  // CatchUp starts over.
  Status TakeFrame(const etcd::KeyValue& frame);
  // Takes the heading of a snapshot that was written later, after all frames before it. If it does
  // not continue what was read, this fails, and the next CatchUp starts over.
  Status TakeHeading(const std::string& value);
  // Whether the heading says that this frame is no longer needed.
  bool IsReplaced(std::uint64_t frame) const;
  // Makes the next CatchUp start over.
  void Forget() { log_.reset(); }

  // The first frame that it does not have; 0 if it has no heading.
  std::uint64_t next_frame() const { return log_ ? log_->reading.next_frame() : 0; }
  // How many times it has started over.
  std::uint64_t begun() const { return begun_; }
  Result<LogEnd> End();
  FrameGroups TakeGroups() { return log_ ? log_->reading.TakeGroups() : FrameGroups(); }

 private:
  struct Log {
    Log(const PartitionKeys& keys, ChangeSink& sink) : reader(sink), reading(keys, reader) {}

    LogReader reader;
    LogReading reading;
  };

  enum class Continuation : std::uint8_t {
    kNone,        // the log does not continue what was read
    kSameLog,     // the log continues it
    kNewHeading,  // the log continues it, and then a snapshot has replaced the heading
  };

  Result<Continuation> Compare(const PageReader& pages, const PinnedLog& log,
                               const std::string& heading);
  bool IsReadUpTo(const StoredHeading& heading) const;
  Result<bool> HasLastFrame(const PageReader& pages, const PinnedLog& log) const;
  Status ReadAnew(const PageReader& pages, const PinnedLog& log, const std::string& heading);

  const PartitionKeys& keys_;
  const NewSink new_sink_;
  std::optional<Log> log_;
  std::uint64_t begun_ = 0;
};

}  // namespace fairlock::storage::replicated
