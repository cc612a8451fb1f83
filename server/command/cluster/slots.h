// Hash slots, as in Redis Cluster: each key has one, and each partition of a fleet serves a range
// of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fairlock::command {

inline constexpr std::uint32_t kHashSlots = 16'384;

// CRC-16/XMODEM of the key modulo kHashSlots. If the key contains "{...}" with at least one byte
// between the first '{' and the next '}', only those bytes count, so that keys can share a slot.
// Source: the Redis Cluster specification, "Hash tags".
std::uint16_t SlotOf(std::string_view key);

struct SlotRange {
  std::uint32_t first = 0;
  std::uint32_t last = kHashSlots - 1;  // included

  bool operator==(const SlotRange&) const = default;
};

// The slots of one of several partitions: equal parts, as nearly as possible, in the order of the
// partitions. REQUIRES: partition < partitions, and partitions <= kHashSlots.
constexpr SlotRange SlotsOf(std::uint32_t partition, std::uint32_t partitions) {
  return {.first = partition * kHashSlots / partitions,
          .last = (partition + 1) * kHashSlots / partitions - 1};
}

// The partition whose slots include `slot`.
constexpr std::uint32_t PartitionOf(std::uint32_t slot, std::uint32_t partitions) {
  return ((slot + 1) * partitions - 1) / kHashSlots;
}

// The id of a node, as clients of Redis Cluster and of Redis Sentinel expect it: 40 hexadecimal
// digits, always the same for a node of that name.
std::string NodeId(std::string_view fleet, std::string_view node);

}  // namespace fairlock::command
