#include "server/services/data_tools.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <iostream>

#include "server/command/table/duration_text.h"
#include "server/command/table/text.h"
#include "server/net/clock.h"
#include "server/persist/state_log.h"
#include "storage/data_folder/check_data.h"
#include "storage/data_folder/salvage_data.h"
#include "storage/records/rows.h"

namespace fairlock::server {

std::string DataFolderOf(const Config& config) {
  if (!config.cluster_etcd.empty()) return "";
  if (!config.data_dir.empty()) return config.data_dir;
  return config.durability == persist::Durability::kNone ? "" : "data";
}

void MakeDataFolder(const Config& config) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const std::string folder = DataFolderOf(config);
  if (folder.empty()) return;
  fs::create_directories(folder, ignored);
  const fs::perms for_group = fs::status(folder, ignored).permissions() & fs::perms::group_read;
  if (for_group != fs::perms::none) ::umask(S_IWGRP | S_IRWXO);
}

std::vector<std::string> FilesOf(const Config& config, const std::string& config_file) {
  std::vector<std::string> files = {
      config_file,          config.log_file,     config.acl_file,    config.http_token_file,
      config.tls_cert_file, config.tls_key_file, config.tls_ca_file, config.history_file};
  std::erase(files, "");
  return files;
}

namespace {

// The data folder without a trailing slash, because other names are derived from the path.
std::string FolderToWorkOn(const Config& config) {
  if (config.data_dir.empty()) return "data";
  const std::filesystem::path path = std::filesystem::path(config.data_dir).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).string();
}

// If root restores a backup, gives the files to the owner of the parent folder, which is the user
// that the server runs as.
void GiveToOwnerOf(const std::filesystem::path& parent, const std::string& folder,
                   std::error_code& error) {
  struct stat owner {};
  if (geteuid() != 0 || stat(parent.c_str(), &owner) != 0 || owner.st_uid == 0) return;
  const auto give = [&](const std::filesystem::path& path) {
    if (lchown(path.c_str(), owner.st_uid, owner.st_gid) != 0 && !error) {
      error = std::error_code(errno, std::generic_category());
    }
  };
  give(folder);
  if (!std::filesystem::is_directory(folder, error)) return;
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    give(entry->path());
  }
}

// The permissions of a data folder restored from that backup: a group that may read the backup may
// read the folder too.
std::filesystem::perms PermissionsLike(const std::string& backup) {
  using std::filesystem::perms;
  std::error_code ignored;
  return perms::owner_all | (std::filesystem::status(backup, ignored).permissions() &
                             (perms::group_read | perms::group_exec));
}

}  // namespace

void PrintContents(const storage::DataReport& report) {
  const auto rows = [&](storage::RowKind kind) { return report.rows_of(kind); };
  std::cout << "snapshot " << report.generation << " of " << report.slices << " slices, batches "
            << report.first_batch << " to " << report.last_batch << '\n'
            << "holds " << rows(storage::RowKind::kHold) << ", places "
            << rows(storage::RowKind::kPlace) << ", cooldowns " << rows(storage::RowKind::kCooldown)
            << ", limits " << rows(storage::RowKind::kLimit) << ", values "
            << rows(storage::RowKind::kValue) << ", tokens below " << report.token_ceiling << '\n';
  for (const std::string& damage : report.damages) std::cout << "damage: " << damage << '\n';
  std::cout << (report.is_whole() ? "whole\n" : "damaged\n");
}

bool PrintDataReport(const Config& config) {
  const std::string folder = FolderToWorkOn(config);
  const auto report = storage::CheckData(folder);
  if (!report.ok()) {
    std::cerr << "fairlockd: " << report.status().message() << '\n';
    return false;
  }
  std::cout << folder << ": ";
  PrintContents(report.value());
  return report->is_whole();
}

namespace {

std::string TimeForName() {
  const auto now = static_cast<std::time_t>(net::UnixTimeUs() / 1'000'000);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &utc);
  return text.data();
}

void PrintLost(const storage::LostChange& lost) {
  const std::string name = "  " + std::to_string(lost.db) + " " + command::Quoted(lost.key) + ": ";
  const auto print = [&](const storage::LostChange::Hold& hold, std::string_view what) {
    std::cout << name << "the hold of " << command::Quoted(hold.owner) << ", token " << hold.token
              << ", " << what << '\n';
  };
  for (const auto& hold : lost.granted) print(hold, "is missing");
  for (const auto& hold : lost.released) print(hold, "had ended, and is there again");
  if (lost.is_other) std::cout << name << "its state is older than it was\n";
}

void PrintSalvage(const storage::SalvageReport& report) {
  std::cout << "damage: " << report.damage << "\nkept: the snapshot"
            << (report.last_batch == 0
                    ? std::string()
                    : ", and the batches up to " + std::to_string(report.last_batch))
            << '\n';
  if (report.later == 0) {
    std::cout << "nothing after that can be read, so it is unknown what is missing\n";
  } else {
    if (report.later_first > report.last_batch + 1) {
      std::cout << "the batches from " << report.last_batch + 1 << " to " << report.later_first - 1
                << " cannot be read, so it is unknown what they changed\n";
    }
    std::cout << "batches from " << report.later_first << " to " << report.later_last
              << " can be read, but not be kept (" << report.later << "); they say of "
              << report.lost.size() << " keys:\n";
  }
  for (const storage::LostChange& lost : report.lost) PrintLost(lost);
  if (report.longest_ms > 0) {
    std::cout << "the next start grants nothing new for "
              << command::FormatDuration(report.longest_ms)
              << ", the longest lease or grace that was seen; if clients use longer ones, start "
                 "with a longer start_delay\n";
  }
  if (report.has_endless) {
    std::cout << "there were locks without a lease: if one of them is missing, its owner does not "
                 "learn of it in time\n";
  }
}

}  // namespace

bool SalvageFolder(const Config& config) {
  const std::string folder = FolderToWorkOn(config);
  const std::string set_aside = "damaged-" + TimeForName();
  const auto report = storage::SalvageData({.path = folder, .set_aside = set_aside});
  if (!report.ok()) {
    std::cerr << "fairlockd: nothing was salvaged: " << report.status().message() << '\n';
    return false;
  }
  PrintSalvage(report.value());
  std::error_code error;
  GiveToOwnerOf(folder, folder + "/db", error);
  GiveToOwnerOf(folder, folder + "/fairlock.id", error);
  if (error) {
    std::cerr << "fairlockd: cannot give the files to the owner of " << folder << ": "
              << error.message() << '\n';
  }
  std::cout << "the damaged database is in " << folder << "/db." << set_aside
            << "; tokens will be higher than any granted before\n";
  return true;
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
    return refuse(backup + " is not a backup: it has no fairlock.id");
  }
  if (fs::exists(folder, error) && !fs::is_empty(folder, error)) {
    return refuse(folder + " is not empty; move it away first");
  }
  // Check the backup now rather than at the next start, when the original may be gone.
  const auto report = storage::CheckData(backup);
  if (!report.ok()) return refuse(report.status().message());
  if (!report->is_whole()) return refuse(backup + " is damaged: " + report->damages.front());
  const fs::path parent = fs::absolute(folder, error).lexically_normal().parent_path();
  if (!error) fs::create_directories(parent, error);
  if (error) return refuse("cannot create the folder " + parent.string() + ": " + error.message());
  const std::string partial = folder + ".restoring";
  fs::remove_all(partial, error);
  fs::create_directory(partial, error);
  if (!error) fs::copy(backup, partial, fs::copy_options::recursive, error);
  if (!error) fs::permissions(partial, PermissionsLike(backup), error);
  if (!error) GiveToOwnerOf(parent, partial, error);
  // Sync all files before the rename, so that the final name always means a complete copy.
  ::sync();
  if (!error) fs::remove(folder, error);
  if (!error) fs::rename(partial, folder, error);
  if (error) return refuse("cannot copy " + backup + " to " + folder + ": " + error.message());
  fs::remove(folder + ".initialised", error);
  std::cout << folder << " was restored from " << backup
            << "; after the next start, tokens will be higher than any granted before\n";
  return true;
}

}  // namespace fairlock::server
