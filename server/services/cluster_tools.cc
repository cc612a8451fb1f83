#include "server/services/cluster_tools.h"

#include <chrono>
#include <iostream>
#include <utility>

#include "server/command/cluster/slots.h"
#include "server/command/table/text.h"
#include "server/services/cluster_settings.h"
#include "server/services/data_tools.h"
#include "storage/data_folder/check_data.h"
#include "storage/replicated/check_log.h"
#include "storage/replicated/copy_fleet.h"
#include "storage/replicated/fleet_record.h"
#include "storage/replicated/new_log.h"

namespace fairlock::server {

namespace {

using storage::replicated::Beat;

bool Refuse(const std::string& why) {
  std::cerr << "fairlockd: " << why << '\n';
  return false;
}

constexpr std::chrono::milliseconds kCreateTimeout{5'000};

std::string CountOf(std::uint32_t partitions) {
  return std::to_string(partitions) + (partitions == 1 ? " partition" : " partitions");
}

std::string DescribeBeat(const Beat& beat) {
  const std::string epoch = "epoch " + std::to_string(beat.epoch);
  return beat.state == Beat::State::kLeading ? "node " + beat.leader + " wrote last, " + epoch
                                             : "node " + beat.leader + " has handed over, " + epoch;
}

struct NewFleet {
  ClusterSettings settings;  // its error also says what is wrong with the number
  std::uint32_t partitions = 0;
};

NewFleet ReadNewFleet(const Config& config, const std::string& partitions) {
  using storage::replicated::FleetRecord;
  NewFleet fleet;
  const auto count = command::ParseInteger(partitions);
  if (config.cluster_etcd.empty()) {
    fleet.settings.error = "--create-fleet needs the members of etcd; cluster_etcd is not set";
  } else if (!count || *count < 1 || *count > FleetRecord::kPartitionsMax) {
    fleet.settings.error = "--create-fleet must be a number of partitions from 1 to " +
                           std::to_string(FleetRecord::kPartitionsMax) + ", got \"" + partitions +
                           "\"";
  } else {
    fleet.settings = ReadClusterSettings(config);
    fleet.partitions = static_cast<std::uint32_t>(*count);
  }
  return fleet;
}

}  // namespace

bool PrintLogReport(const Config& config) {
  const ClusterSettings settings = ReadClusterSettings(config);
  if (!settings.error.empty()) return Refuse(settings.error);
  const auto report =
      storage::replicated::CheckLog(settings.options, settings.partition.value_or(0));
  if (!report.ok()) return Refuse(report.status().message());
  std::cout << "fleet " << config.cluster_name << " at revision " << report->revision
            << " of etcd: " << DescribeBeat(report->beat.beat) << ", " << report->frames
            << " frames of " << report->frame_bytes << " bytes\n";
  PrintContents(report->data);
  return report->data.is_whole();
}

bool CreateFleet(const Config& config, const std::string& partitions) {
  const NewFleet fleet = ReadNewFleet(config, partitions);
  if (!fleet.settings.error.empty()) return Refuse(fleet.settings.error);
  const ClusterSettings& settings = fleet.settings;
  auto client = storage::etcd::EtcdClient::Open(settings.options.etcd);
  if (!client.ok()) return Refuse(client.status().message());
  const auto found = storage::replicated::CreateOrReadFleet(
      *client.value(), storage::replicated::FleetPrefix(config.cluster_name),
      {.partitions = fleet.partitions}, kCreateTimeout);
  if (!found.ok()) return Refuse("the fleet was not created: " + found.status().message());
  if (!found->is_new) {
    return Refuse("the fleet " + config.cluster_name + " exists already, with " +
                  CountOf(found->record.partitions) + "; choose another cluster_name");
  }
  std::cout << "the fleet " << config.cluster_name << " has " << CountOf(found->record.partitions)
            << "; start its nodes\n";
  return true;
}

bool CopyFleet(const Config& config, const std::string& partitions, const CopiedFleet& copied) {
  const NewFleet fleet = ReadNewFleet(config, partitions);
  if (!fleet.settings.error.empty()) return Refuse(fleet.settings.error);
  storage::replicated::CopyFleetOptions options{
      .source_etcd = fleet.settings.options.etcd,
      .source = copied.fleet,
      .etcd = fleet.settings.options.etcd,
      .fleet = config.cluster_name,
      .node = fleet.settings.options.node,
      .repartition = {.partitions = fleet.partitions,
                      .slot_of = command::SlotOf,
                      .partition_of = [count = fleet.partitions](std::uint16_t slot) {
                        return command::PartitionOf(slot, count);
                      }}};
  if (!copied.etcd.empty()) {
    auto endpoints = storage::etcd::ParseEndpoints(copied.etcd);
    if (!endpoints.ok()) return Refuse("--copy-from-etcd " + endpoints.status().message());
    options.source_etcd.endpoints = std::move(endpoints.value());
  }
  const auto copy = storage::replicated::CopyFleet(options);
  if (!copy.ok()) return Refuse("nothing was copied: " + copy.status().message());
  for (const std::string& pattern : copy->mixed_limits) {
    std::cerr << "fairlockd: the partitions had different overrides for "
              << command::Quoted(pattern) << "; the new ones have the one that was set last\n";
  }
  for (const std::string& pattern : copy->partial_limits) {
    std::cerr << "fairlockd: not every partition had an override for " << command::Quoted(pattern)
              << "; all new ones have it\n";
  }
  std::cout << "the fleet " << config.cluster_name << " has " << CountOf(fleet.partitions)
            << " with the locks of " << copied.fleet << " (" << CountOf(copy->source_partitions)
            << "): " << copy->counts.holds << " holds, " << copy->counts.places
            << " places in queues, " << copy->counts.cooldowns << " slots in cooldown, "
            << copy->counts.values << " values, " << copy->counts.limits
            << " overrides; start its nodes, and never start a node of " << copied.fleet
            << " again\n";
  return true;
}

bool ImportData(const Config& config, const std::string& folder) {
  if (config.cluster_etcd.empty()) {
    return Refuse("--import needs the options of a node of a fleet; cluster_etcd is not set");
  }
  const ClusterSettings settings = ReadClusterSettings(config);
  if (!settings.error.empty()) return Refuse(settings.error);
  // Removes a trailing slash, because other names are derived from the path.
  const std::string path = folder.substr(0, folder.find_last_not_of('/') + 1);
  const auto rows = storage::ReadRows(path);
  if (!rows.ok()) return Refuse(rows.status().message());
  const storage::Status status = storage::replicated::ImportLog(settings.options, rows.value());
  if (!status.ok()) return Refuse("nothing was imported: " + status.message());
  std::cout << rows->rows().size() << " rows of " << folder << " are now the log of the fleet "
            << config.cluster_name << "; start its nodes, and never start a server on " << folder
            << " again\n";
  return true;
}

}  // namespace fairlock::server
