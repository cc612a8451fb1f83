// Reads a whole data folder and reports damage without changing anything.
#pragma once

#include <string>

#include "storage/log/examination.h"
#include "storage/status.h"

namespace fairlock::storage {

// A status other than ok means that the folder could not be examined: it is in use, or it is not a
// data folder. Damage is listed in the report; records after a damaged one are still read.
Result<DataReport> CheckData(const std::string& path);

}  // namespace fairlock::storage
