// Backups named by their time, each in its own folder; old ones are removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "storage/data_folder/open_data.h"
#include "storage/records/snapshot_heading.h"
#include "storage/status.h"

namespace fairlock::storage {

// "fairlock-20261124T212501Z": sorting by name sorts by time.
std::string NameOfBackupAt(std::int64_t unix_seconds);

struct DatedBackupOptions {
  std::string folder;  // empty: `backups` next to the data folder, created if it does not exist
  std::int64_t unix_seconds = 0;
  std::size_t kept_max = 0;  // number of backups to keep; 0: all
};

struct DatedBackup {
  std::string path;  // empty: no backup was made
  Status status;     // also covers the removal of old backups
};

// Like BackUp, with a name made from the time. Then removes old backups.
DatedBackup BackUpDated(const OpenedData& data, const DatedBackupOptions& options);

// Removes all but the newest `count` backups of that log in `folder` that have such names, and the
// remains of backups that were interrupted long ago. Files with other names and backups of other
// servers stay, and so does `newest`.
Status RemoveOldBackups(const std::string& folder, const LogId& log_id, std::size_t count,
                        const std::string& newest);

}  // namespace fairlock::storage
