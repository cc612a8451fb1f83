#include "server/process/start_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "server/process/version.h"

namespace fairlock::server {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kBeginningOf2020Us = 1'577'836'800 * kSecondUs;

TEST(StartValues, FirstTokenCountsSecondsSince2020AndTheirPartsInBlocksOf2To20) {
  EXPECT_EQ(FirstToken(kBeginningOf2020Us + 5 * kSecondUs), 5U << 20);
  EXPECT_EQ(FirstToken(kBeginningOf2020Us + 5 * kSecondUs + kSecondUs / 2), 11U << 19);
  EXPECT_EQ(FirstToken(kBeginningOf2020Us + 5 * kSecondUs + 999'999), (6U << 20) - 2);
  EXPECT_EQ(FirstToken(1'795'255'146 * kSecondUs), 217'418'346ULL << 20);
}

TEST(StartValues, FirstTokenIsBoundedWhateverTheClockSays) {
  EXPECT_EQ(FirstToken(0), 1U);
  EXPECT_EQ(FirstToken(-5), 1U);
  EXPECT_EQ(FirstToken(kBeginningOf2020Us), 1U);
  EXPECT_EQ(FirstToken(std::int64_t{1} << 62), std::uint64_t{1} << 52);
}

TEST(StartValues, RandomOnesDifferFromStartToStart) {
  EXPECT_NE(RandomSeed(), RandomSeed());
  EXPECT_NE(RandomRunId(), RandomRunId());
  EXPECT_THAT(RandomRunId(), testing::MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(RandomRunId().size(), 40U);
}

TEST(StartValues, FactsAreThoseOfThisProcess) {
  const command::ServerFacts facts = ReadFacts();
  EXPECT_EQ(facts.version, Version());
  EXPECT_EQ(facts.process_id, getpid());
  EXPECT_THAT(facts.executable, testing::HasSubstr("unit_server"));
  EXPECT_THAT(facts.operating_system, testing::StartsWith("Linux "));
}

}  // namespace
}  // namespace fairlock::server
