// Makes backups of a running server, also in folders that are named by their time, and removes old
// ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "storage/data_folder/open_data.h"
#include "storage/records/snapshot_heading.h"
#include "storage/status.h"

namespace fairlock::storage {

// Creates a data folder with the current state at `path`. Its parent must exist; `path` itself must
// not exist or lie within the data folder. Tables are hard links if on the same file system, copies
// otherwise. The folder appears complete or not at all. May run on a separate thread during
// appends. A server that starts on the backup, or on a copy of it, detects that it is a copy and
// starts with higher tokens.
Status BackUp(const OpenedData& data, const std::string& path);

// Returns a name such as "fairlock-20261124T212501Z", so that sorting by name sorts by time.
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

// Makes a backup like BackUp, with a name made from the time. Then removes old backups.
DatedBackup BackUpDated(const OpenedData& data, const DatedBackupOptions& options);

// Removes all but the newest `count` backups of that log from `folder`, and the remains of backups
// that were interrupted long ago. Keeps `newest`, files without such a name, and backups of other
// servers.
Status RemoveOldBackups(const std::string& folder, const LogId& log_id, std::size_t count,
                        const std::string& newest);

}  // namespace fairlock::storage
