// What one client is subscribed to.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <cstdint>

namespace fairlock::command {

struct Channel;

// Shard channels are a name space of their own: a message on one reaches no channel and no pattern.
enum class ChannelKind : std::uint8_t { kExact, kPattern, kShard };
inline constexpr std::size_t kChannelKinds = 3;

// By kind. A client that is subscribed to nothing has no such object.
struct Subscriptions {
  std::array<boost::unordered_flat_set<Channel*>, kChannelKinds> by_kind;
  std::size_t pattern_bytes = 0;   // of all its patterns
  std::uint64_t pattern_cost = 0;  // what they cost each message at most

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
