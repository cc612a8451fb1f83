#include "server/data_tools.h"

#include <filesystem>
#include <iostream>

#include "storage/check_data.h"
#include "storage/rows.h"

namespace fairlock::server {

std::string DataFolderOf(const Config& config) {
  if (!config.data_dir.empty()) return config.data_dir;
  return config.durability == "none" ? "" : "data";
}

namespace {

std::string FolderToWorkOn(const Config& config) {
  return config.data_dir.empty() ? "data" : config.data_dir;
}

}  // namespace

bool PrintDataReport(const Config& config) {
  const std::string folder = FolderToWorkOn(config);
  const auto report = storage::CheckData(folder);
  if (!report.ok()) {
    std::cerr << "fairlockd: " << report.status().message() << '\n';
    return false;
  }
  const auto rows = [&](storage::RowKind kind) { return report->rows_of(kind); };
  std::cout << folder << ": snapshot " << report->generation << " of " << report->slices
            << " slices, batches " << report->first_batch << " to " << report->last_batch << '\n'
            << "holds " << rows(storage::RowKind::kHold) << ", places "
            << rows(storage::RowKind::kPlace) << ", cooling rooms "
            << rows(storage::RowKind::kCooling) << ", limits " << rows(storage::RowKind::kLimit)
            << ", tokens below " << report->token_ceiling << '\n';
  for (const std::string& damage : report->damages) std::cout << "damage: " << damage << '\n';
  std::cout << (report->is_whole() ? "whole\n" : "damaged\n");
  return report->is_whole();
}

bool RestoreBackup(const Config& config, const std::string& backup) {
  namespace fs = std::filesystem;
  const std::string folder = FolderToWorkOn(config);
  const auto refuse = [&](const std::string& why) {
    std::cerr << "fairlockd: " << why << '\n';
    return false;
  };
  std::error_code error;
  if (!fs::exists(backup + "/fairlock.id", error)) {
    return refuse(backup + " is no backup: it has no fairlock.id");
  }
  if (fs::exists(folder, error) && !fs::is_empty(folder, error)) {
    return refuse(folder + " is not empty; move it away first");
  }
  // Better now than at the start, when the original may be gone.
  const auto report = storage::CheckData(backup);
  if (!report.ok()) return refuse(report.status().message());
  if (!report->is_whole()) return refuse(backup + " is damaged: " + report->damages.front());
  const std::string partial = folder + ".restoring";
  fs::remove_all(partial, error);
  fs::copy(backup, partial, fs::copy_options::recursive, error);
  if (!error) fs::remove(folder, error);
  if (!error) fs::rename(partial, folder, error);
  if (error) return refuse("cannot copy " + backup + " to " + folder + ": " + error.message());
  fs::remove(folder + ".initialised", error);
  std::cout << folder << " is made from " << backup
            << "; at the next start its tokens begin higher than any that were granted\n";
  return true;
}

}  // namespace fairlock::server
