// Starts the log of a fleet with the rows of another log.
#pragma once

#include "storage/log/load_log.h"
#include "storage/replicated/cluster_home.h"

namespace fairlock::storage::replicated {

// Writes the rows as a snapshot and hands over, so that a node takes over at once. Refused if the
// fleet already has a log. The first write marks the register, and only the last one removes the
// mark: nodes refuse a log whose import was interrupted, and the next import replaces it.
Status ImportLog(const ClusterOptions& options, const RowTable& rows);

}  // namespace fairlock::storage::replicated
