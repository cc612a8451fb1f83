// Copies a fleet that is stopped to a new one with another number of partitions.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/etcd/etcd_client.h"
#include "storage/replicated/repartition.h"

namespace fairlock::storage::replicated {

struct CopyFleetOptions {
  etcd::EtcdOptions source_etcd;
  std::string source;  // the name of the fleet that is copied
  etcd::EtcdOptions etcd;
  std::string fleet;  // the name of the new fleet
  std::string node;   // the writer that the registers name
  RepartitionOptions repartition;
  // How long the records of nodes that have been killed may take to disappear.
  std::chrono::milliseconds patience{8'000};
  // A register that does not change for this long has no leader that works.
  std::chrono::milliseconds silence{1'500};
};

struct FleetCopy {
  std::uint32_t source_partitions = 0;
  RepartitionCounts counts;
  std::vector<std::string> mixed_limits;    // see Repartition
  std::vector<std::string> partial_limits;  // likewise
};

// Refused if the source does not exist, if a node of it runs, or if there is a fleet of the new
// name.
//
// The registers of the source are handed over first, so that a leader that was only paused cannot
// write any more. If one of them changes before the copy is complete, because a node was started,
// nothing is copied. Otherwise the source stays as it is.
//
// The last write makes the new fleet visible, and all its registers ready. Until then, no node can
// lead it, and the next copy of that name replaces what this one has written.
Result<FleetCopy> CopyFleet(const CopyFleetOptions& options);

}  // namespace fairlock::storage::replicated
