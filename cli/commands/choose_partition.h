// The option --partition of commands that concern one node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cli/base/result.h"
#include "cli/connection/fleet_leaders.h"

namespace fairlock::cli {

inline constexpr std::int64_t kPartitionMax = 63;

// Returns the partition that the option names; it may be omitted only if there is one partition.
// `reason` completes the error: why the command needs the option. Fails if no node leads the
// partition.
Result<std::size_t> ChoosePartition(const std::optional<std::int64_t>& given,
                                    const FleetLeaders& leaders, std::string_view reason);

}  // namespace fairlock::cli
