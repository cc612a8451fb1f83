// Replaces the damaged database of a data folder by what can be kept of it.
#pragma once

#include <string>

#include "storage/log/salvage.h"
#include "storage/status.h"

namespace fairlock::storage {

struct SalvageOptions {
  std::string path;       // of the data folder
  std::string set_aside;  // what follows "db." in the new name of the damaged database
};

// No server may use the folder. The damaged database remains in the folder under its new name. The
// folder becomes a copy, so the next run begins with higher tokens. Refused if nothing is damaged,
// or if the snapshot is damaged or a newer version wrote the log, so that nothing can be kept; then
// nothing has changed. A salvage that was interrupted can be repeated.
Result<SalvageReport> SalvageData(const SalvageOptions& options);

}  // namespace fairlock::storage
