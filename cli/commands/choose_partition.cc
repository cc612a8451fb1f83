#include "cli/commands/choose_partition.h"

#include <string>

namespace fairlock::cli {

Result<std::size_t> ChoosePartition(const std::optional<std::int64_t>& given,
                                    const FleetLeaders& leaders, std::string_view reason) {
  const std::string count = std::to_string(leaders.size());
  if (!given && leaders.is_several()) {
    return Failure{kExitWrongUse, "--partition is required: the fleet has " + count +
                                      " partitions, and " + std::string(reason)};
  }
  const auto partition = static_cast<std::size_t>(given.value_or(0));
  if (partition >= leaders.size()) {
    return Failure{kExitWrongUse, "--partition must be less than " + count +
                                      ", the number of partitions, got " +
                                      std::to_string(partition)};
  }
  if (leaders.leader(partition).failure) return *leaders.leader(partition).failure;
  return partition;
}

}  // namespace fairlock::cli
