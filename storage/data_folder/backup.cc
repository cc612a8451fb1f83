#include "storage/data_folder/backup.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>
#include <vector>

#include "storage/data_folder/data_directory.h"
#include "storage/data_folder/file_identity.h"

namespace fairlock::storage {
namespace {

namespace fs = std::filesystem;

// Removes trailing slashes, which would leave the last component empty.
std::string PathOfFolder(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return (normal.has_filename() ? normal : normal.parent_path()).string();
}

}  // namespace

Status BackUp(const OpenedData& data, const std::string& asked_path) {
  const std::string path = PathOfFolder(asked_path);
  const std::string parent = fs::path(path).parent_path().string();
  std::error_code error;
  if (fs::exists(path, error)) return Refused(path + " already exists");
  if (error) return Failed("cannot examine " + path + ": " + error.message());
  if (data.directory.Contains(path)) {
    return Refused(path + " is inside the data folder, and would be lost with it");
  }
  // Does not create parent folders: if the path is mistyped, they would remain in the wrong place,
  // and a backup into the mount point of an unmounted disk would be useless.
  if (!fs::is_directory(parent, error)) {
    return Refused("the folder " + parent + " does not exist; create it before the backup");
  }
  const std::string partial = path + ".partial";
  fs::remove_all(partial, error);
  if (!error) fs::create_directory(partial, data.directory.path(), error);
  if (error) return Failed("cannot create the folder " + partial + ": " + error.message());
  Status status = data.store->Backup(partial + "/db");
  if (status.ok()) status = WriteIdOfBackup(partial, data.directory.log_id());
  if (status.ok()) {
    fs::rename(partial, path, error);
    if (error) status = Failed("cannot rename " + partial + ": " + error.message());
  }
  if (!status.ok()) {
    fs::remove_all(partial, error);
  } else if (!SyncFolderOf(path)) {
    status = SystemFailure("the backup is complete, but may be lost with the machine: cannot sync",
                           parent);
  }
  return status;
}

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
