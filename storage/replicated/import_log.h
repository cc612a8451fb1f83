// Starts the log of a fleet with the rows of another log.
#pragma once

#include "storage/log/load_log.h"
#include "storage/replicated/cluster_home.h"

namespace fairlock::storage::replicated {

// Writes the rows as a snapshot and hands over, so that a node takes over at once. Refused if the
// fleet already has a log, or if a node takes over during the import. The log is valid only when
// the last write has succeeded: nodes refuse a log whose import was interrupted.
Status ImportLog(const ClusterOptions& options, const RowTable& rows);

}  // namespace fairlock::storage::replicated
