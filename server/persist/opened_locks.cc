#include "server/persist/opened_locks.h"

#include <utility>

namespace fairlock::persist {

storage::Result<OpenedLocks> OpenLocks(const OpenLocksOptions& options) {
  auto rows = std::make_unique<LoadedRows>();
  storage::OpenOptions open;
  open.directory.path = options.path;
  open.directory.initialise = options.initialise;
  open.directory.own_files = options.own_files;
  open.durability = options.durability;
  open.log = options.log;
  auto data = storage::OpenData(open, *rows);
  if (!data.ok()) return data.status();
  storage::Status status = rows->Finish();
  if (!status.ok()) return status;
  return OpenedLocks{.home = std::make_unique<storage::DataFolderHome>(std::move(data.value())),
                     .rows = std::move(rows)};
}

}  // namespace fairlock::persist
