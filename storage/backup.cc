#include "storage/backup.h"

#include <filesystem>
#include <system_error>

#include "storage/data_directory.h"

namespace fairlock::storage {

Status BackUp(const OpenedData& data, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(path, error) || error) return Refused(path + " exists already");
  if (data.directory.Contains(path)) {
    return Refused(path + " lies within the data folder, and would be lost with it");
  }
  const std::string partial = path + ".partial";
  fs::remove_all(partial, error);
  if (!error) fs::create_directories(partial, error);
  if (error) return Failed("cannot make the folder " + partial + ": " + error.message());
  Status status = data.store->Backup(partial + "/db");
  if (status.ok()) status = WriteIdOfBackup(partial, data.directory.log_id());
  if (status.ok()) {
    fs::rename(partial, path, error);
    if (error) status = Failed("cannot rename " + partial + ": " + error.message());
  }
  if (!status.ok()) fs::remove_all(partial, error);
  return status;
}

}  // namespace fairlock::storage
