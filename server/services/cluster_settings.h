// The options of a node of a fleet.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "server/config/config.h"
#include "storage/replicated/cluster_home.h"

namespace fairlock::server {

struct ClusterSettings {
  storage::replicated::ClusterOptions options;
  // The size limit of etcd's database; 0 means that it is not checked.
  std::uint64_t quota_bytes = 0;
  std::uint16_t sentinel_port = 0;  // 0 if there is none
  std::uint16_t http_port = 0;      // 0 if there is none
  bool is_https = false;            // whether http_port is for TLS
  bool relays = false;              // whether it relays connections while it is a standby
  // The partition that this node must serve; none means any.
  std::optional<std::uint32_t> partition;
  ClusterDialect dialect{};  // the value of cluster_dialect
  std::string machine;       // the value of cluster_machine, or the name of the machine
  // See FleetObserverOptions.
  std::chrono::milliseconds balance_after{0};
  std::string compared_options;  // see ComparedOptions
  std::string error;             // what is wrong with an option; empty if there is none
};

// If fewer bytes than this are left of etcd's quota, no new locks are granted.
std::uint64_t FreeQuotaMin(const ClusterSettings& settings);

// Returns, as NodeRecord::options, the options that the nodes of a fleet compare with each other
// because they decide what survives a take-over.
std::string ComparedOptions(const Config& config);

// The address at which other nodes reach this node, as host:port. Port 0 means that only the TLS
// port can be used.
std::string OwnAddress(const Config& config);

// Saves the partition, its beat and the id of the etcd cluster in the environment, where
// ReadClusterSettings finds them after this process has executed itself again. Call this when no
// other thread runs.
void RememberBeat(std::uint32_t partition, const storage::replicated::Beat& beat,
                  std::uint64_t etcd_cluster);

// Reads the password file, and the name of the machine.
ClusterSettings ReadClusterSettings(const Config& config);

// Returns what is wrong with the options of a node; empty if nothing is, or if this is a single
// server.
std::string CheckCluster(const Config& config);

}  // namespace fairlock::server
