// Backups in a folder of their own each, named by the time, of which the newest are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "storage/data_folder/open_data.h"
#include "storage/records/snapshot_heading.h"
#include "storage/status.h"

namespace fairlock::storage {

// "fairlock-20261124T212501Z": the order of the names is that of the times.
std::string NameOfBackupAt(std::int64_t unix_seconds);

struct DatedBackupOptions {
  std::string folder;  // empty: `backups` beside the data folder, which is made if it is missing
  std::int64_t unix_seconds = 0;
  std::size_t kept_max = 0;  // of the backups there; 0: all
};

struct DatedBackup {
  std::string path;  // empty: none was made
  Status status;     // also of the removal of old ones
};

// As BackUp, under the name of the time. Then removes old ones.
DatedBackup BackUpDated(const OpenedData& data, const DatedBackupOptions& options);

// Removes all but the newest `count` of the backups of that log which stand in `folder` under such
// names, and what a backup that was interrupted long ago has left there. What has another name, or
// is of another server, stays. `newest` is the path of one that stays in any case.
Status RemoveOldBackups(const std::string& folder, const LogId& log_id, std::size_t count,
                        const std::string& newest);

}  // namespace fairlock::storage
