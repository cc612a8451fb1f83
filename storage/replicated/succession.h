// Which standby should lead a partition next: the order in which they take over, and the one to
// which a leader hands over. Nothing rests on this order but how long a fail-over takes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "storage/replicated/fleet_view.h"
#include "storage/replicated/node_record.h"

namespace fairlock::storage::replicated {

// A standby that has fewer frames than this left to read has caught up.
inline constexpr std::uint64_t kFramesOfCaughtUp = 100;

// A standby that still reads the log, or that others do not reach, has at least this rank if
// another one is ready. So it waits for two seconds more (LeadershipOptions::rank_step_ms).
inline constexpr std::uint32_t kRankWhileReading = 40;

// Whether little is left to read if this standby takes over.
bool HasCaughtUp(const NodeRecord& standby);

// Whether more than half of the other nodes of its partition cannot connect to the address that
// this node announces. Clients could then not reach it either.
bool IsUnreached(std::span<const NodeRecord> nodes, const NodeRecord& node);

// The rank of the node `own` among the standbys of its partition, which `view` assigns to it: those
// that others reach and that have caught up come first, then those with fewer frames left to read,
// then the lower names. `own` need not be in the view; if it is, its record there does not count.
std::uint32_t RankOf(const FleetView& view, const NodeRecord& own);

// The name of the standby of this partition that comes first; none if no standby that others reach
// has caught up.
std::optional<std::string> WarmestStandby(std::span<const NodeRecord> nodes,
                                          std::uint32_t partition, const std::string& leader);

}  // namespace fairlock::storage::replicated
