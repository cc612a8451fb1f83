// Tools for a data folder that no server is using.
#pragma once

#include <string>
#include <vector>

#include "server/config/config.h"
#include "storage/log/examination.h"

namespace fairlock::server {

// The path of the data folder; empty if none is used.
std::string DataFolderOf(const Config& config);

// Creates the folder, because sockets in it may be opened before the data. If its group may read
// the folder, the group may also read the files that this process creates from now on; otherwise
// only their owner may. Ignores errors: opening the data reports them.
void MakeDataFolder(const Config& config);

// The files that the options name; they may be in the data folder before it has any data.
std::vector<std::string> FilesOf(const Config& config, const std::string& config_file);

// --check-data: prints the contents. False if the folder is damaged or cannot be read.
[[nodiscard]] bool PrintDataReport(const Config& config);

// Prints the damage found, and the lines of a report that do not depend on where the data is.
void PrintContents(const storage::DataReport& report);

// --salvage: replaces a damaged database by its intact beginning, and prints what may be missing.
// False if nothing was salvaged.
[[nodiscard]] bool SalvageFolder(const Config& config);

// --restore: creates the folder, which must be empty or missing, from a backup. False on failure.
[[nodiscard]] bool RestoreBackup(const Config& config, const std::string& backup);

}  // namespace fairlock::server
