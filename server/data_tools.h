// What can be done with a data folder while no server runs on it.
#pragma once

#include <string>

#include "server/config.h"

namespace fairlock::server {

// Empty: none is used.
std::string DataFolderOf(const Config& config);

// --check-data: prints what is in it. False: it is damaged, or cannot be examined.
[[nodiscard]] bool PrintDataReport(const Config& config);

// --restore: makes the folder, which must be empty or missing, from a backup. False: it could not.
[[nodiscard]] bool RestoreBackup(const Config& config, const std::string& backup);

}  // namespace fairlock::server
