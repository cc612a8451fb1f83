#include "storage/data_folder/salvage_data.h"

#include <filesystem>
#include <system_error>

#include "storage/data_folder/data_directory.h"
#include "storage/data_folder/file_identity.h"
#include "storage/log/write_rows.h"
#include "storage/rocksdb/log_scan.h"
#include "storage/rocksdb/rocksdb_store.h"

namespace fairlock::storage {

namespace {

namespace fs = std::filesystem;

Result<SalvageReport> ReadWhatIsLeft(const DataDirectory& directory, Salvage& salvage) {
  const auto store = RocksDbStore::Open(
      {.path = directory.database_path(), .mode = RocksDbOptions::Mode::kSalvage});
  if (!store.ok()) return store.status();
  Status status = store.value()->Load(salvage);
  if (!status.ok()) return status;
  auto report = salvage.Finish();
  if (!report.ok()) return report.status();
  if (salvage.end().log_id != directory.log_id()) {
    return Refused("the database in " + directory.database_path() +
                   " does not belong to the fairlock.id next to it");
  }
  // If nothing can be read after the damage, the records end with the intact beginning.
  const Status logs = CheckLogs(directory.database_path()).status();
  if (report->damage.empty() && !logs.ok()) report->damage = logs.message();
  if (report->damage.empty()) return Refused(directory.path() + " is not damaged");
  return report;
}

Status WriteDatabase(const std::string& path, const LogId& log_id, const RowTable& rows) {
  const auto store = RocksDbStore::Open({.path = path, .mode = RocksDbOptions::Mode::kNew});
  if (!store.ok()) return store.status();
  return WriteRows(*store.value(), log_id, rows);
}

}  // namespace

Result<SalvageReport> SalvageData(const SalvageOptions& options) {
  const auto directory = DataDirectory::Open({.path = options.path, .only_look = true});
  if (!directory.ok()) return directory.status();
  if (directory->is_new()) return Refused(directory->path() + " has no data");
  const std::string database = directory->database_path();
  const std::string salvaged = database + ".salvaged";
  const std::string set_aside = database + "." + options.set_aside;
  std::error_code error;
  // An interrupted salvage may have set the database aside. Then the new one is complete.
  if (!fs::exists(database, error) && fs::exists(salvaged, error)) {
    fs::rename(salvaged, database, error);
    if (error) return Failed("cannot rename " + salvaged + ": " + error.message());
    return Refused(directory->path() + " had been salvaged before; that is complete now");
  }
  Salvage salvage;
  auto report = ReadWhatIsLeft(directory.value(), salvage);
  if (!report.ok()) return report.status();
  fs::remove_all(salvaged, error);
  if (error) return Failed("cannot remove " + salvaged + ": " + error.message());
  Status status = WriteDatabase(salvaged, directory->log_id(), salvage.kept());
  if (status.ok()) status = WriteIdOfBackup(directory->path(), directory->log_id());
  if (!status.ok()) {
    fs::remove_all(salvaged, error);
    return status;
  }
  fs::rename(database, set_aside, error);
  if (!error) fs::rename(salvaged, database, error);
  if (error) return Failed("cannot rename the database " + database + ": " + error.message());
  if (!SyncFolderOf(database)) return SystemFailure("cannot sync", directory->path());
  return report;
}

}  // namespace fairlock::storage
