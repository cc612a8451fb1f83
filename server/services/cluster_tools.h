// Tools for the log of a fleet in etcd.
#pragma once

#include <string>

#include "server/config/config.h"

namespace fairlock::server {

// --check-data with the options of a node: prints the contents of the log. The fleet may be running
// at the same time. False if the log is damaged or cannot be read.
[[nodiscard]] bool PrintLogReport(const Config& config);

// --create-fleet: creates a fleet with that many partitions. False if that is not a number, if the
// fleet exists, or if etcd cannot be reached.
[[nodiscard]] bool CreateFleet(const Config& config, const std::string& partitions);

// The fleet that --copy-from names.
struct CopiedFleet {
  std::string fleet;  // its name
  std::string etcd;   // members of the etcd that stores it; empty means cluster_etcd
};

// --create-fleet with --copy-from: creates a fleet with that many partitions, and with the locks of
// another fleet, which must be stopped. False on failure; then there is no such fleet.
[[nodiscard]] bool CopyFleet(const Config& config, const std::string& partitions,
                             const CopiedFleet& copied);

// --import: starts the log of a new fleet with the rows of a data folder. No server may be using
// the folder, which is not changed. False on failure.
[[nodiscard]] bool ImportData(const Config& config, const std::string& folder);

}  // namespace fairlock::server
