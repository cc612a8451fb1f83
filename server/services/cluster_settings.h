// The options of a node of a fleet.
#pragma once

#include <string>

#include "server/config/config.h"
#include "storage/replicated/cluster_home.h"

namespace fairlock::server {

struct ClusterSettings {
  storage::replicated::ClusterOptions options;
  std::string error;  // what is wrong with an option; empty: nothing
};

// Where the other nodes reach this node: host:port. Port 0: only the port for TLS.
std::string OwnAddress(const Config& config);

// Reads the password file, and the name of the machine.
ClusterSettings ReadClusterSettings(const Config& config);

}  // namespace fairlock::server
