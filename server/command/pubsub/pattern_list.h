// The patterns that have subscribers, and which of them match a channel.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/glob.h"

namespace fairlock::command {

struct Channel;

// A message is matched only against patterns whose literal beginning (head) is a prefix of its
// channel: a million patterns for other keys do not make a message more expensive.
//
// Invariant: cost_max() is the sum of CostOf over all patterns. Loop-confined.
class PatternList {
 public:
  // The maximum number of bytes compared when the glob is matched against the longest channel of a
  // lock.
  static std::uint64_t CostOf(const engine::Glob& glob);

  // REQUIRES: the channel is a pattern, and not in the list (Remove: in the list). Its address is
  // kept.
  void Add(const Channel& pattern);
  void Remove(const Channel& pattern);

  // Visits the matching patterns with a literal beginning of at least `head_bytes_min` bytes, until
  // `visit` returns false; adds the number of bytes compared to `compared`.
  void VisitMatches(std::string_view channel, std::size_t head_bytes_min, std::uint64_t& compared,
                    const std::function<bool(const Channel& pattern)>& visit) const;
  bool empty() const { return by_head_.empty(); }
  // The maximum cost of a message.
  std::uint64_t cost_max() const { return cost_max_; }

 private:
  using ByHead = std::map<std::string, std::vector<const Channel*>, std::less<>>;

  ByHead by_head_;
  std::uint64_t cost_max_ = 0;
};

}  // namespace fairlock::command
