#include "server/engine/containers/hash_bucket.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace fairlock::engine {
namespace {

std::uint64_t SlotOf(std::uint64_t tag, std::uint64_t pointer) { return tag | pointer; }

TEST(HashBucket, FindsTheSlotsOfATagAmongThoseOfOthers) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 10'000; ++round) {
    HashBucket bucket;
    // There are only a few tags, so that several slots have the same one. Tags with the highest bit
    // set are negative as 16-bit numbers.
    const auto any_tag = [&] { return HashBucket::TagOf((random() % 4) << 62 | 3ULL << 49); };
    for (std::uint64_t& slot : bucket.slots) {
      if (random() % 3 != 0) slot = SlotOf(any_tag(), random() & 0x7fff'ffff'fff0);
    }
    HashBucket other;
    if (random() % 2 != 0) bucket.next = &other;
    const std::uint64_t tag = any_tag();
    std::uint32_t with_tag = 0;
    std::uint32_t free = 0;
    for (std::size_t i = 0; i < HashBucket::kSlots; ++i) {
      with_tag |= static_cast<std::uint32_t>((bucket.slots[i] & HashBucket::kTagMask) == tag) << i;
      free |= static_cast<std::uint32_t>(bucket.slots[i] == 0) << i;
    }
    ASSERT_EQ(bucket.SlotsWith(tag), with_tag);
    ASSERT_EQ(bucket.FreeSlots(), free);
    ASSERT_EQ(bucket.empty(), free == 0x7f);
  }
}

TEST(HashBucket, TellsAFreeSlotFromOneWithAHashOfZero) {
  HashBucket bucket;
  bucket.slots[3] = SlotOf(HashBucket::TagOf(0), 0x1000);
  EXPECT_EQ(bucket.SlotsWith(HashBucket::TagOf(0)), 1U << 3);
  EXPECT_EQ(bucket.FreeSlots(), 0x77U);
}

}  // namespace
}  // namespace fairlock::engine
