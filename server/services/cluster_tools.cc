#include "server/services/cluster_tools.h"

#include <chrono>
#include <iostream>

#include "server/command/table/text.h"
#include "server/services/cluster_settings.h"
#include "server/services/data_tools.h"
#include "storage/data_folder/read_rows.h"
#include "storage/replicated/check_log.h"
#include "storage/replicated/fleet_record.h"
#include "storage/replicated/import_log.h"

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
  using storage::replicated::FleetRecord;
  if (config.cluster_etcd.empty()) {
    return Refuse("--create-fleet needs the members of etcd; cluster_etcd is not set");
  }
  const auto count = command::ParseInteger(partitions);
  if (!count || *count < 1 || *count > FleetRecord::kPartitionsMax) {
    return Refuse("--create-fleet must be a number of partitions from 1 to " +
                  std::to_string(FleetRecord::kPartitionsMax) + ", got \"" + partitions + "\"");
  }
  const ClusterSettings settings = ReadClusterSettings(config);
  if (!settings.error.empty()) return Refuse(settings.error);
  auto client = storage::etcd::EtcdClient::Open(settings.options.etcd);
  if (!client.ok()) return Refuse(client.status().message());
  const auto found = storage::replicated::CreateOrReadFleet(
      *client.value(), storage::replicated::FleetPrefix(config.cluster_name),
      {.partitions = static_cast<std::uint32_t>(*count)}, kCreateTimeout);
  if (!found.ok()) return Refuse("the fleet was not created: " + found.status().message());
  if (!found->is_new) {
    return Refuse("the fleet " + config.cluster_name + " exists already, with " +
                  CountOf(found->record.partitions) + "; choose another cluster_name");
  }
  std::cout << "the fleet " << config.cluster_name << " has " << CountOf(found->record.partitions)
            << "; start its nodes\n";
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
