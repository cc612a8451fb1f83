#include "storage/data_folder/check_data.h"

#include <algorithm>
#include <utility>

#include "storage/data_folder/data_directory.h"
#include "storage/log/write_rows.h"
#include "storage/records/rows.h"
#include "storage/records/token_blocks.h"
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

namespace {

// Returns a copy of the rows with a higher token ceiling.
RowTable WithTokensOfACopy(const RowTable& rows) {
  RowTable raised;
  for (const auto& [name, value] : rows.rows()) {
    MetaRow row;
    const bool is_ceiling = name.first == RowKind::kMeta && DecodeRow(name.second, value, row) &&
                            row.name == MetaName::kTokenCeiling;
    if (!is_ceiling) {
      raised.Apply({.kind = name.first, .key = name.second, .value = value});
      continue;
    }
    row.number = std::min(row.number + kTokensOfACopy, kTokenCeilingMax);
    ApplyRow(row, raised);
  }
  return raised;
}

}  // namespace

Result<RowTable> ReadRows(const std::string& path) {
  const auto directory = DataDirectory::Open({.path = path, .only_look = true});
  if (!directory.ok()) return directory.status();
  if (directory->is_new()) return Refused(path + " has no data");
  const auto store = RocksDbStore::Open(
      {.path = directory->database_path(), .mode = RocksDbOptions::Mode::kReadOnly});
  if (!store.ok()) return store.status();
  RowTable rows;
  const auto end = LoadLog(*store.value(), rows);
  if (!end.ok()) return end.status();
  if (end->log_id != directory->log_id()) {
    return Damaged("the database in " + directory->database_path() +
                   " does not belong to the fairlock.id next to it");
  }
  return directory->is_copy() ? WithTokensOfACopy(rows) : std::move(rows);
}

}  // namespace fairlock::storage
