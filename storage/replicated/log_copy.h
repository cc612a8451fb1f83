// What a node has read of the log of a partition, and how it reads the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "storage/log/load_log.h"
#include "storage/replicated/log_reading.h"

namespace fairlock::storage::replicated {

// Returns a sink without any rows, in place of the one that it returned before.
using NewSink = std::function<ChangeSink&()>;

// It has the beginning of the log up to a frame; its sink has the changes up to there, as LoadLog
// would have passed them on. It begins anew, with a new sink, when the log has another heading or
// does not continue what was read. After a restore of etcd from a backup the log may have other
// frames of the same numbers. A batch after them has a checksum that does not follow; if there is
// none yet, only the last frame shows it, so it is compared.
//
// Not thread-safe.
class LogCopy {
 public:
  // `keys` must outlive the copy.
  LogCopy(const PartitionKeys& keys, NewSink new_sink)
      : keys_(keys), new_sink_(std::move(new_sink)) {}

  // Reads what is missing. After a failure that is not damage, it has more than before, and
  // continues from there the next time.
  Status CatchUp(const PageReader& pages, const PinnedLog& log);
  // Takes a frame that was written later. Fails, and begins anew the next time, if it is not the
  // next one.
  Status TakeFrame(const etcd::KeyValue& frame);
  // The next CatchUp begins anew.
  void Forget() { log_.reset(); }

  // The first frame that it does not have; 0: it has no heading.
  std::uint64_t next_frame() const { return log_ ? log_->reading.next_frame() : 0; }
  // How often it has begun anew.
  std::uint64_t begun() const { return begun_; }
  Result<LogEnd> End();
  FrameGroups TakeGroups() { return log_ ? log_->reading.TakeGroups() : FrameGroups(); }

 private:
  struct Log {
    Log(const PartitionKeys& keys, ChangeSink& sink) : reader(sink), reading(keys, reader) {}

    LogReader reader;
    LogReading reading;
  };

  Result<bool> Continues(const PageReader& pages, const PinnedLog& log, const std::string& heading);

  const PartitionKeys& keys_;
  const NewSink new_sink_;
  std::optional<Log> log_;
  std::uint64_t begun_ = 0;
};

}  // namespace fairlock::storage::replicated
