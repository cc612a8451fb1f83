// Reads the rows of a data folder that no server is using, without changing anything.
#pragma once

#include <string>

#include "storage/log/load_log.h"
#include "storage/status.h"

namespace fairlock::storage {

// If the folder is a copy, the token ceiling is raised, as when a server starts on it, because the
// original may have granted tokens since the copy was made.
Result<RowTable> ReadRows(const std::string& path);

}  // namespace fairlock::storage
