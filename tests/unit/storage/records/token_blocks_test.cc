#include "storage/records/token_blocks.h"

#include <gtest/gtest.h>

namespace fairlock::storage {
namespace {

TEST(StorageTokenBlocks, TheFirstTokenIsTheLargerOfCeilingAndClock) {
  EXPECT_EQ(FirstToken({.stored_ceiling = 5, .seconds_since_2020 = 0}), 5U);
  EXPECT_EQ(FirstToken({.stored_ceiling = 5, .seconds_since_2020 = 3}), 3 * kTokenBlock);
  EXPECT_EQ(FirstToken({.seconds_since_2020 = 3, .milliseconds = 500}), kTokenBlock * 7 / 2);
  EXPECT_EQ(FirstToken({.stored_ceiling = 4 * kTokenBlock, .seconds_since_2020 = 3}),
            4 * kTokenBlock);
}

TEST(StorageTokenBlocks, TokensBeginAtOneAndNeverBeyondTheLargestCeiling) {
  EXPECT_EQ(FirstToken({}), 1U);
  EXPECT_EQ(FirstToken({.seconds_since_2020 = ~0ULL}), kTokenCeilingMax);
  EXPECT_EQ(FirstToken({.stored_ceiling = kTokenCeilingMax, .is_copy = true}), kTokenCeilingMax);
}

TEST(StorageTokenBlocks, ACopyBeginsADayLater) {
  EXPECT_EQ(FirstToken({.seconds_since_2020 = 1'000, .is_copy = true}),
            (1'000 + 86'400) * kTokenBlock);
}

TEST(StorageTokenBlocks, NothingMayBeGrantedBeforeABlockIsReserved) {
  TokenBlocks blocks(100);
  EXPECT_FALSE(blocks.MayGrant(100));
  EXPECT_TRUE(blocks.NeedsBlock(100));
  EXPECT_EQ(blocks.next_ceiling(), 100 + kTokenBlock);
  blocks.Reserved(100 + kTokenBlock);
  EXPECT_TRUE(blocks.MayGrant(100));
  EXPECT_TRUE(blocks.MayGrant(99 + kTokenBlock));
  EXPECT_FALSE(blocks.MayGrant(100 + kTokenBlock));
}

TEST(StorageTokenBlocks, TheNextBlockIsAskedForWhenHalfOfTheLastIsUsed) {
  TokenBlocks blocks(100);
  blocks.Reserved(100 + kTokenBlock);
  EXPECT_FALSE(blocks.NeedsBlock(99 + kTokenBlock / 2));
  EXPECT_TRUE(blocks.NeedsBlock(100 + kTokenBlock / 2));
  blocks.Reserved(blocks.next_ceiling());
  EXPECT_FALSE(blocks.NeedsBlock(100 + kTokenBlock / 2));
}

TEST(StorageTokenBlocks, TheLastBlockIsFollowedByNone) {
  TokenBlocks blocks(kTokenCeilingMax - 1);
  blocks.Reserved(blocks.next_ceiling());
  EXPECT_EQ(blocks.ceiling(), kTokenCeilingMax);
  EXPECT_TRUE(blocks.MayGrant(kTokenCeilingMax - 1));
  EXPECT_FALSE(blocks.NeedsBlock(kTokenCeilingMax - 1));
}

// Whatever the clock says, successive starts never repeat a token, as each has the ceiling that the
// previous one stored.
TEST(StorageTokenBlocks, EachStartIsAboveEverythingThatWasReserved) {
  std::uint64_t stored = 0;
  std::uint64_t granted = 0;
  for (const std::uint64_t clock : {100U, 50U, 0U, 101U, 101U, 5'000U}) {
    const std::uint64_t first = FirstToken({.stored_ceiling = stored, .seconds_since_2020 = clock});
    EXPECT_GT(first, granted);
    TokenBlocks blocks(first);
    stored = blocks.next_ceiling();
    blocks.Reserved(stored);
    granted = stored - 1;
    EXPECT_TRUE(blocks.MayGrant(granted));
  }
}

}  // namespace
}  // namespace fairlock::storage
