// Reads the rows of a data folder that no server uses, without changing anything.
#pragma once

#include <string>

#include "storage/log/load_log.h"
#include "storage/status.h"

namespace fairlock::storage {

// If the folder is a copy, the token ceiling is raised as at the start of a server on it, because
// the original may have granted tokens since.
Result<RowTable> ReadRows(const std::string& path);

}  // namespace fairlock::storage
