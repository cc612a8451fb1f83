#include "storage/replicated/leader_balance.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>

#include "storage/replicated/fleet_view.h"

namespace fairlock::storage::replicated {

namespace {

using Leaders = std::vector<const NodeRecord*>;

// The leader of each partition. Empty if a partition has none.
Leaders LeadersOf(std::span<const NodeRecord> nodes, std::uint32_t partitions) {
  Leaders leaders;
  for (std::uint32_t partition = 0; partition < partitions; ++partition) {
    const NodeRecord* const leader = LeaderOf(nodes, partition);
    if (leader == nullptr) return {};
    leaders.push_back(leader);
  }
  return leaders;
}

}  // namespace

std::optional<std::string> ChooseSuccessor(std::span<const NodeRecord> nodes,
                                           std::uint32_t partitions, const NodeRecord& own) {
  if (!std::ranges::all_of(nodes, &NodeRecord::is_in_sync)) return std::nullopt;
  const Leaders leaders = LeadersOf(nodes, partitions);
  if (own.partition >= leaders.size() || leaders[own.partition]->name != own.name) {
    return std::nullopt;
  }
  std::map<std::string, std::size_t> led;  // how many partitions each machine leads
  for (const NodeRecord* const leader : leaders) ++led[leader->machine];
  const auto rank = [&](const NodeRecord& node) { return std::tie(led[node.machine], node.name); };
  const NodeRecord* best = nullptr;
  for (const NodeRecord& node : nodes) {
    const bool is_standby = node.partition == own.partition && node.name != own.name;
    if (!is_standby || node.leads || !HasCaughtUp(node) || IsUnreached(nodes, node)) continue;
    if (led[node.machine] + 2 > led[own.machine]) continue;
    if (best == nullptr || rank(node) < rank(*best)) best = &node;
  }
  return best == nullptr ? std::nullopt : std::optional(best->name);
}

bool LeaderBalance::See(std::span<const NodeRecord> nodes, std::uint32_t partitions,
                        std::int64_t claims_revision, TimeMs now) {
  Seen seen{.claims_revision = claims_revision};
  for (const NodeRecord* const leader : LeadersOf(nodes, partitions)) {
    seen.leaders.emplace_back(leader->name, leader->epoch);
  }
  if (seen != seen_) calm_since_ = now;
  seen_ = std::move(seen);
  return is_enabled() && !seen_.leaders.empty() && now >= calm_since_ + calm_ms_;
}

}  // namespace fairlock::storage::replicated
