// What can be done with a data folder while no server runs on it.
#pragma once

#include <string>
#include <vector>

#include "server/config/config.h"

namespace fairlock::server {

// Empty: none is used.
std::string DataFolderOf(const Config& config);

// Makes the folder, in which sockets may be wanted before it is opened. What fails is said then.
void MakeDataFolder(const Config& config);

// The files that the options name, which may be in the data folder before there is data.
std::vector<std::string> FilesOf(const Config& config, const std::string& config_file);

// --check-data: prints what is in it. False: it is damaged, or cannot be examined.
[[nodiscard]] bool PrintDataReport(const Config& config);

// --restore: makes the folder, which must be empty or missing, from a backup. False: it could not.
[[nodiscard]] bool RestoreBackup(const Config& config, const std::string& backup);

}  // namespace fairlock::server
