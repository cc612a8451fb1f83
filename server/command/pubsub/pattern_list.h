// The patterns that have subscribers, and which of them match a channel.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/glob.h"

namespace fairlock::command {

class Client;

// A channel or pattern to which clients are subscribed. Every channel has one kind and at least one
// subscriber.
struct Channel {
  std::string_view name;                     // a view of the channel's key in the map
  std::unique_ptr<const engine::Glob> glob;  // null: not a pattern
  boost::unordered_flat_set<Client*> subscribers;
};

// A message is matched only against patterns whose literal beginning (head) is a prefix of the
// message's channel, so a million patterns for other keys do not make a message more expensive.
//
// Invariant: cost_max() is the sum of CostOf over all patterns. Loop-confined.
class PatternList {
 public:
  // Returns the maximum number of bytes compared when the glob is matched against the longest
  // possible name of a lock's channel.
  static std::uint64_t CostOf(const engine::Glob& glob);

  // REQUIRES: the channel is a pattern. For Add it must not be in the list, for Remove it must be.
  // The list keeps its address.
  void Add(const Channel& pattern);
  void Remove(const Channel& pattern);

  // Visits the matching patterns whose literal beginning has at least `head_bytes_min` bytes, until
  // `visit` returns false. Adds the number of bytes compared to `compared`.
  void VisitMatches(std::string_view channel, std::size_t head_bytes_min, std::uint64_t& compared,
                    const std::function<bool(const Channel& pattern)>& visit) const;
  bool empty() const { return by_head_.empty(); }
  // The maximum that matching one message costs.
  std::uint64_t cost_max() const { return cost_max_; }

 private:
  using ByHead = std::map<std::string, std::vector<const Channel*>, std::less<>>;

  ByHead by_head_;
  std::uint64_t cost_max_ = 0;
};

}  // namespace fairlock::command
