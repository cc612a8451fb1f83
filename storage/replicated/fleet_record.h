// The description of a fleet, which is written to etcd once, when the fleet is created.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/etcd/etcd_client.h"
#include "storage/status.h"

namespace fairlock::storage::replicated {

struct FleetRecord {
  static constexpr std::uint32_t kFormat = 1;
  static constexpr std::uint32_t kPartitionsMax = 64;

  std::uint32_t format = kFormat;
  std::uint32_t partitions = 1;  // never changes
  // The id of the etcd cluster that the fleet uses; 0 if no node has written it yet. A node that
  // finds the record in another cluster knows that etcd was restored or replaced.
  std::uint64_t etcd_cluster = 0;

  bool operator==(const FleetRecord&) const = default;
};

// The key of the record.
std::string FleetKey(const std::string& fleet_prefix);
// The prefix of all keys of a fleet.
std::string FleetPrefix(std::string_view fleet);
// The keys of one partition begin with this.
std::string PartitionPrefix(std::string_view fleet_prefix, std::uint32_t partition);

// Encodes the record as a JSON object.
std::string EncodeFleet(const FleetRecord& record);
// Ignores unknown members. kDamaged if it is not a record, or its numbers are out of range.
Result<FleetRecord> DecodeFleet(std::string_view json);

// kRefused if the fleet does not exist. kFailed if etcd did not execute the request.
Result<FleetRecord> ReadFleet(etcd::EtcdClient& client, const std::string& fleet_prefix,
                              std::chrono::milliseconds call_timeout);

// Creates the fleet, or reads it if it exists. `is_new` says which.
struct FoundFleet {
  FleetRecord record;
  bool is_new = false;
};
// kFailed if etcd did not execute the request.
Result<FoundFleet> CreateOrReadFleet(etcd::EtcdClient& client, const std::string& fleet_prefix,
                                     const FleetRecord& record,
                                     std::chrono::milliseconds call_timeout);

}  // namespace fairlock::storage::replicated
