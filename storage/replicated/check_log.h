// Reads the whole log of a partition in etcd and reports damage without changing anything.
#pragma once

#include <cstdint>

#include "storage/log/examination.h"
#include "storage/replicated/beat.h"
#include "storage/replicated/cluster_home.h"

namespace fairlock::storage::replicated {

struct LogReport {
  SeenBeat beat;              // the key does not exist if no node ever led
  std::int64_t revision = 0;  // the revision of etcd at which everything was read
  std::uint64_t frames = 0;
  std::uint64_t frame_bytes = 0;
  DataReport data;
};

// A status other than ok means that etcd could not be read, or that there is no log. Damage is
// listed in the report.
Result<LogReport> CheckLog(const ClusterOptions& options, std::uint32_t partition = 0);

}  // namespace fairlock::storage::replicated
