#include "storage/data_folder/backup.h"

#include <filesystem>
#include <system_error>

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

}  // namespace fairlock::storage
