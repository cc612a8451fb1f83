#include "storage/replicated/fleet_view.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

namespace fairlock::storage::replicated {

namespace {

// Compares in the order of preference: fewer nodes first, and of those the one without a neighbour.
struct Members {
  std::size_t nodes = 0;
  bool has_neighbour = false;  // a node on the same machine

  auto operator<=>(const Members&) const = default;
};

}  // namespace

std::uint32_t ChoosePartition(std::span<const NodeRecord> nodes, std::uint32_t partitions,
                              const NodeRecord& own) {
  assert(partitions > 0);
  std::vector<Members> of_partition(partitions);
  for (const NodeRecord& node : nodes) {
    if (node.partition >= partitions || node.name == own.name) continue;
    Members& members = of_partition[node.partition];
    ++members.nodes;
    members.has_neighbour = members.has_neighbour || node.machine == own.machine;
  }
  return static_cast<std::uint32_t>(std::ranges::min_element(of_partition) - of_partition.begin());
}

}  // namespace fairlock::storage::replicated
