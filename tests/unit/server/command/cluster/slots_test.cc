#include "server/command/cluster/slots.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlock::command {
namespace {

// "123456789" and its CRC are from the Redis Cluster specification; the other slots are what a
// redis-server answers to CLUSTER KEYSLOT.
TEST(Slots, AreThoseOfRedisCluster) {
  EXPECT_EQ(SlotOf("123456789"), 0x31c3);
  EXPECT_EQ(SlotOf(""), 0);
  EXPECT_EQ(SlotOf("foo"), 12182);
  EXPECT_EQ(SlotOf("order:42"), 8691);
  EXPECT_EQ(SlotOf(std::string("\0\xff\r\n", 4)), SlotOf(std::string("{\0\xff\r\n}", 6)));
}

TEST(Slots, OfATagAreThoseOfTheFirstBraces) {
  EXPECT_EQ(SlotOf("{user1000}.following"), SlotOf("user1000"));
  EXPECT_EQ(SlotOf("foo{bar}{zap}"), SlotOf("bar"));
  EXPECT_EQ(SlotOf("foo{{bar}}zap"), SlotOf("{bar"));
}

TEST(Slots, WithoutATagTheWholeKeyCounts) {
  EXPECT_NE(SlotOf("foo{}{bar}"), SlotOf("bar"));
  EXPECT_NE(SlotOf("foo{bar"), SlotOf("bar"));
  EXPECT_NE(SlotOf("foo}bar{"), SlotOf("bar"));
}

TEST(Slots, OfAllPartitionsCoverEachSlotOnce) {
  for (std::uint32_t partitions = 1; partitions <= 64; ++partitions) {
    std::uint32_t next = 0;
    for (std::uint32_t partition = 0; partition < partitions; ++partition) {
      const SlotRange range = SlotsOf(partition, partitions);
      ASSERT_EQ(range.first, next);
      ASSERT_GE(range.last, range.first);
      ASSERT_EQ(PartitionOf(range.first, partitions), partition);
      ASSERT_EQ(PartitionOf(range.last, partitions), partition);
      next = range.last + 1;
    }
    ASSERT_EQ(next, kHashSlots);
  }
}

}  // namespace
}  // namespace fairlock::command
