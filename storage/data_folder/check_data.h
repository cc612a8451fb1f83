// Reads a whole data folder and reports damage without changing anything.
#pragma once

#include <string>

#include "storage/log/examination.h"
#include "storage/log/load_log.h"
#include "storage/status.h"

namespace fairlock::storage {

// A status other than ok means that the folder could not be examined: it is in use, or it is not a
// data folder. Damage is listed in the report; records after a damaged one are still read.
Result<DataReport> CheckData(const std::string& path);

// Reads the rows of a data folder that no server is using, without changing anything.
//
// If the folder is a copy, the token ceiling is raised, as when a server starts on it, because the
// original may have granted tokens since the copy was made.
Result<RowTable> ReadRows(const std::string& path);

}  // namespace fairlock::storage
