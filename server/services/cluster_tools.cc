#include "server/services/cluster_tools.h"

#include <iostream>

#include "server/services/cluster_settings.h"
#include "server/services/data_tools.h"
#include "storage/data_folder/read_rows.h"
#include "storage/replicated/check_log.h"
#include "storage/replicated/import_log.h"

namespace fairlock::server {

namespace {

using storage::replicated::Beat;

bool Refuse(const std::string& why) {
  std::cerr << "fairlockd: " << why << '\n';
  return false;
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
  const auto report = storage::replicated::CheckLog(settings.options);
  if (!report.ok()) return Refuse(report.status().message());
  std::cout << "fleet " << config.cluster_name << " at revision " << report->revision
            << " of etcd: " << DescribeBeat(report->beat.beat) << ", " << report->frames
            << " frames of " << report->frame_bytes << " bytes\n";
  PrintContents(report->data);
  return report->data.is_whole();
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
