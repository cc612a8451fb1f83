#include "storage/replicated/succession.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>

namespace fairlock::storage::replicated {

namespace {

// A node, and what decides about its place among the standbys.
struct Candidate {
  Candidate(std::span<const NodeRecord> nodes, const NodeRecord& the_node)
      : node(the_node), is_unreached(IsUnreached(nodes, the_node)) {}

  bool is_ready() const { return !is_unreached && HasCaughtUp(node); }
  auto place() const {
    const bool has_caught_up = HasCaughtUp(node);
    return std::tuple(is_unreached, !has_caught_up, !node.is_in_sync,
                      has_caught_up ? 0 : node.frames_behind, std::string_view(node.name));
  }

  const NodeRecord& node;
  const bool is_unreached;
};

bool HasWord(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const std::string_view first = text.substr(0, text.find(' '));
    if (first == word) return true;
    text.remove_prefix(std::min(first.size() + 1, text.size()));
  }
  return false;
}

}  // namespace

bool HasCaughtUp(const NodeRecord& standby) {
  return standby.is_in_sync && standby.frames_behind < kFramesOfCaughtUp;
}

bool IsUnreached(std::span<const NodeRecord> nodes, const NodeRecord& node) {
  std::size_t others = 0;
  std::size_t failed = 0;
  for (const NodeRecord& other : nodes) {
    if (other.partition != node.partition || other.name == node.name) continue;
    ++others;
    if (HasWord(other.unreached, node.name)) ++failed;
  }
  return 2 * failed > others;
}

std::uint32_t RankOf(const FleetView& view, const NodeRecord& own) {
  const std::uint32_t partition = view.assignment ? view.assignment->partition : 0;
  const Candidate self(view.nodes, own);
  std::uint32_t rank = 0;
  bool must_wait = false;
  for (const NodeRecord& node : view.nodes) {
    if (node.partition != partition || node.leads || node.name == own.name) continue;
    const Candidate other(view.nodes, node);
    if (other.place() >= self.place()) continue;
    ++rank;
    if (other.is_ready() && !self.is_ready()) must_wait = true;
  }
  return must_wait ? kRankWhileReading + rank : rank;
}

std::optional<std::string> WarmestStandby(std::span<const NodeRecord> nodes,
                                          std::uint32_t partition, const std::string& leader) {
  std::optional<Candidate> best;
  for (const NodeRecord& node : nodes) {
    if (node.partition != partition || node.leads || node.name == leader) continue;
    const Candidate candidate(nodes, node);
    if (!candidate.is_ready()) continue;
    if (!best || candidate.place() < best->place()) best.emplace(candidate);
  }
  return best ? std::optional(best->node.name) : std::nullopt;
}

}  // namespace fairlock::storage::replicated
