// Copies the data of a running server.
#pragma once

#include <string>

#include "storage/data_folder/open_data.h"
#include "storage/status.h"

namespace fairlock::storage {

// Creates a data folder with the current state at `path`. Its parent must exist; `path` itself must
// not exist or lie within the data folder. Tables are hard links if on the same file system, copies
// otherwise. The folder appears complete or not at all. May run on a separate thread during
// appends. A server that starts on the backup, or on a copy of it, detects that it is a copy and
// starts with higher tokens.
Status BackUp(const OpenedData& data, const std::string& path);

}  // namespace fairlock::storage
