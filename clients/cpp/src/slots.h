// Hash slots, as in Redis Cluster: they decide which partition of a fleet serves a key.
#pragma once

#include <string>
#include <string_view>

namespace fairlock::client {

inline constexpr int kSlots = 16384;

// Of a key such as {order:42}:stock, only the part in braces counts.
int SlotOf(std::string_view key);

struct SlotRange {
  int first = 0;
  int last = kSlots - 1;

  [[nodiscard]] bool Contains(int slot) const { return first <= slot && slot <= last; }
};

// The name of a channel that has the slot of the key, and belongs to the client with this id.
std::string ChannelFor(std::string_view key, const std::string& id);

}  // namespace fairlock::client
