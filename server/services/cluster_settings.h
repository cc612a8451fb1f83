// The options of a node of a fleet.
#pragma once

#include <string>

#include "server/config/config.h"
#include "storage/replicated/cluster_home.h"

namespace fairlock::server {

struct ClusterSettings {
  storage::replicated::ClusterOptions options;
  std::uint64_t quota_bytes = 0;    // of etcd's database; 0: not checked
  std::uint16_t sentinel_port = 0;  // 0: none
  bool relays = false;              // as a standby
  std::string error;                // what is wrong with an option; empty: nothing
};

// With fewer bytes left of etcd's quota, no new locks are granted.
std::uint64_t FreeQuotaMin(const ClusterSettings& settings);

// Where the other nodes reach this node: host:port. Port 0: only the port for TLS.
std::string OwnAddress(const Config& config);

// Passes the beat on to the next image of this process, whose ReadClusterSettings finds it. Call it
// when no other thread runs.
void RememberBeat(const storage::replicated::Beat& beat);

// Reads the password file, and the name of the machine.
ClusterSettings ReadClusterSettings(const Config& config);

}  // namespace fairlock::server
