#include "storage/replicated/import_log.h"

#include <string>

#include "storage/replicated/fleet_record.h"
#include "storage/replicated/new_log.h"

namespace fairlock::storage::replicated {

Status ImportLog(const ClusterOptions& options, const RowTable& rows) {
  auto client = etcd::EtcdClient::Open(options.etcd);
  if (!client.ok()) return client.status();
  const std::string prefix = FleetPrefix(options.fleet);
  const auto fleet = CreateOrReadFleet(*client.value(), prefix, {}, kNewLogCallTimeout);
  if (!fleet.ok()) return fleet.status();
  if (fleet->record.partitions != 1) {
    return Refused("the fleet has " + std::to_string(fleet->record.partitions) +
                   " partitions, and a data folder can only become a fleet of one partition");
  }
  NewLog log(*client.value(), PartitionKeys(PartitionPrefix(prefix, 0)), options.node,
             options.address);
  Status status = log.Begin();
  if (status.ok()) status = log.Write(rows);
  return status.ok() ? log.HandOver() : status;
}

}  // namespace fairlock::storage::replicated
