// What one client is subscribed to.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <cstdint>

namespace fairlock::command {

struct Channel;

// Shard channels are a separate name space: their messages reach no ordinary channel or pattern.
enum class ChannelKind : std::uint8_t { kExact, kPattern, kShard };
inline constexpr std::size_t kChannelKinds = 3;

// Indexed by kind. A client without subscriptions has no such object.
struct Subscriptions {
  std::array<boost::unordered_flat_set<Channel*>, kChannelKinds> by_kind;
  std::size_t pattern_bytes = 0;   // total for all its patterns
  std::uint64_t pattern_cost = 0;  // the maximum that they cost per message, in total

  const boost::unordered_flat_set<Channel*>& of(ChannelKind kind) const {
    return by_kind[static_cast<std::size_t>(kind)];
  }
  std::size_t size() const {
    std::size_t names = 0;
    for (const auto& channels : by_kind) names += channels.size();
    return names;
  }
};

}  // namespace fairlock::command
