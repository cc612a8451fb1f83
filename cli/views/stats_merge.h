// Merges the replies of several partitions to STATS.
#pragma once

#include <vector>

#include "protocol/reply.h"

namespace fairlock::cli {

// Returns one map like those of the servers, its rows in the same order: by label and, with
// `is_by_minute`, by minute. Counts are added up. A percentile cannot be computed from those of the
// parts; the highest of them is an upper bound.
//
// REQUIRES: there is at least one reply.
protocol::Reply MergedStats(const std::vector<protocol::Reply>& replies, bool is_by_minute);

}  // namespace fairlock::cli
