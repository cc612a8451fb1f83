// Chooses the partition that a new node of a fleet serves.
#pragma once

#include <cstdint>
#include <span>

#include "storage/replicated/node_record.h"

namespace fairlock::storage::replicated {

// The partition with the fewest nodes. Among several, one that has no node on the machine of `own`
// is preferred, then the one with the lowest number. A record with the name of `own` is of an
// earlier process of this node, and does not count. REQUIRES: partitions > 0.
std::uint32_t ChoosePartition(std::span<const NodeRecord> nodes, std::uint32_t partitions,
                              const NodeRecord& own);

}  // namespace fairlock::storage::replicated
