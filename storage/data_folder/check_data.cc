#include "storage/data_folder/check_data.h"

#include "storage/data_folder/data_directory.h"
#include "storage/rocksdb/log_scan.h"
#include "storage/rocksdb/rocksdb_store.h"

namespace fairlock::storage {
Result<DataReport> CheckData(const std::string& path) {
  const auto directory = DataDirectory::Open({.path = path, .only_look = true});
  if (!directory.ok()) return directory.status();
  DataReport report;
  if (directory->is_new()) return report;
  Examination examination(report);
  const Status logs = CheckLogs(directory->database_path()).status();
  examination.AddDamage(logs);
  const auto store = RocksDbStore::Open(
      {.path = directory->database_path(), .mode = RocksDbOptions::Mode::kReadOnly});
  if (!store.ok()) {
    // Opening also reads the logs, so if they are damaged, the damage is already listed.
    if (logs.ok()) examination.AddDamage(store.status());
    return report;
  }
  examination.AddDamage(store.value()->VerifyTables());
  examination.AddDamage(store.value()->Load(examination));
  examination.Finish(directory->log_id());
  return report;
}

}  // namespace fairlock::storage
