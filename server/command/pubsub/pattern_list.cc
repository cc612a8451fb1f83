#include "server/command/pubsub/pattern_list.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "server/engine/api/types.h"

namespace fairlock::command {

namespace {

// The maximum length of the channel of a key: "__keyspace@15__:" and the longest possible key.
constexpr std::size_t kOwnChannelBytesMax = 16 + engine::kKeyBytesMax;
// Visiting a pattern costs as much as comparing this many bytes.
constexpr std::uint64_t kVisitCost = 16;

std::size_t SharedBytes(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

// Does not count the head, because a pattern is visited only if its head matches.
std::uint64_t PatternList::CostOf(const engine::Glob& glob) {
  return kVisitCost + glob.CostMax(kOwnChannelBytesMax) - glob.head().size();
}

void PatternList::Add(const Channel& pattern) {
  const std::string_view head = pattern.glob->head();
  auto found = by_head_.find(head);
  if (found == by_head_.end()) found = by_head_.try_emplace(std::string(head)).first;
  found->second.push_back(&pattern);
  cost_max_ += CostOf(*pattern.glob);
}

void PatternList::Remove(const Channel& pattern) {
  const auto found = by_head_.find(pattern.glob->head());
  assert(found != by_head_.end());
  std::erase(found->second, &pattern);
  if (found->second.empty()) by_head_.erase(found);
  cost_max_ -= CostOf(*pattern.glob);
}

void PatternList::VisitMatches(std::string_view channel, std::size_t head_bytes_min,
                               std::uint64_t& compared,
                               const std::function<bool(const Channel& pattern)>& visit) const {
  // Visits all heads that are prefixes of the channel, longest first. A head sorts directly after
  // its own prefixes, apart from heads that are not prefixes of the channel.
  std::string_view rest = channel;
  auto at = by_head_.upper_bound(rest);
  while (at != by_head_.begin() && rest.size() >= head_bytes_min) {
    const auto& [head, patterns] = *std::prev(at);
    compared += kVisitCost;
    const std::size_t shared = SharedBytes(rest, head);
    if (shared == head.size()) {
      for (const Channel* pattern : patterns) {
        compared += kVisitCost;
        if (pattern->glob->Matches(channel, compared) && !visit(*pattern)) return;
      }
      if (head.empty() || head.size() == head_bytes_min) return;
      rest = rest.substr(0, head.size() - 1);
    } else {
      rest = rest.substr(0, shared);
    }
    at = by_head_.upper_bound(rest);
  }
}

}  // namespace fairlock::command
