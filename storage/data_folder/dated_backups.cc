#include "storage/data_folder/dated_backups.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>
#include <vector>

#include "storage/data_folder/backup.h"
#include "storage/data_folder/data_directory.h"

namespace fairlock::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "fairlock-";
constexpr std::string_view kShape = "00000000T000000Z";  // 0 stands for any digit
constexpr std::string_view kPartial = ".partial";
// An unfinished backup that is older than this was abandoned: no backup takes so long.
constexpr auto kAbandonedAfter = std::chrono::hours(24);

bool IsDated(std::string_view name) {
  if (!name.starts_with(kPrefix)) return false;
  return std::ranges::equal(name.substr(kPrefix.size()), kShape, [](char c, char expected) {
    return expected == '0' ? c >= '0' && c <= '9' : c == expected;
  });
}

bool IsAbandoned(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  if (!name.ends_with(kPartial)) return false;
  if (!IsDated(std::string_view(name).substr(0, name.size() - kPartial.size()))) return false;
  std::error_code error;
  const auto changed_at = entry.last_write_time(error);
  return !error && fs::file_time_type::clock::now() - changed_at > kAbandonedAfter;
}

// First renames the backup to mark it as unfinished, so that a partly removed one is never mistaken
// for a complete one.
Status Remove(const fs::path& path) {
  std::error_code error;
  fs::path going = path;
  if (!path.native().ends_with(kPartial)) {
    going += kPartial;
    fs::rename(path, going, error);
  }
  if (!error) fs::remove_all(going, error);
  return error ? Failed("cannot remove the old backup " + path.string() + ": " + error.message())
               : Status();
}

// Creates a folder that only the server's user can access, like the data folder: backups contain
// the names of keys and owners.
Status MakeFolder(const std::string& folder) {
  std::error_code error;
  const bool is_made = fs::create_directory(folder, error);
  if (is_made) fs::permissions(folder, fs::perms::owner_all, error);
  return error ? Failed("cannot create the folder " + folder + ": " + error.message() +
                        "; option backup_dir selects another one")
               : Status();
}

}  // namespace

DatedBackup BackUpDated(const OpenedData& data, const DatedBackupOptions& options) {
  std::string folder = options.folder;
  if (folder.empty()) {
    folder = (fs::path(data.directory.path()).parent_path() / "backups").string();
    Status status = MakeFolder(folder);
    if (!status.ok()) return {.path = "", .status = std::move(status)};
  }
  const std::string path = (fs::path(folder) / NameOfBackupAt(options.unix_seconds)).string();
  Status status = BackUp(data, path);
  if (!status.ok()) return {.path = "", .status = std::move(status)};
  if (options.kept_max > 0) {
    status = RemoveOldBackups(fs::path(path).parent_path().string(), data.directory.log_id(),
                              options.kept_max, path);
  }
  if (!status.ok()) status = Failed("the backup " + path + " was made, but " + status.message());
  return {.path = path, .status = std::move(status)};
}

std::string NameOfBackupAt(std::int64_t unix_seconds) {
  const std::time_t seconds = unix_seconds;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
  return std::string(kPrefix) + std::string(text, length);
}

Status RemoveOldBackups(const std::string& folder, const LogId& log_id, std::size_t count,
                        const std::string& newest) {
  std::vector<fs::path> backups;
  std::vector<fs::path> old;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_symlink(ignored) || !entry->is_directory(ignored)) continue;
    if (IsAbandoned(*entry)) {
      old.push_back(entry->path());
    } else if (IsDated(entry->path().filename().string()) && entry->path() != fs::path(newest) &&
               IsBackupOf(entry->path().string(), log_id)) {
      backups.push_back(entry->path());
    }
  }
  if (error) return Failed("cannot read " + folder + ": " + error.message());
  std::ranges::sort(backups, std::greater());
  const std::size_t kept = std::min(backups.size(), std::max<std::size_t>(count, 1) - 1);
  old.insert(old.end(), backups.begin() + static_cast<std::ptrdiff_t>(kept), backups.end());
  for (const fs::path& path : old) {
    Status status = Remove(path);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace fairlock::storage
