#include "server/net/resp/fair_share_meter.h"

#include <gtest/gtest.h>

namespace fairlock::net {
namespace {

TEST(FairShareMeter, WhoAsksNowAndThenIsNeverOverItsShare) {
  FairShareMeter account;
  for (std::int64_t now = 1; now < 10'000; ++now) {
    account.Charge(FairShareMeter::kDecayBytesPerMs, now);
    ASSERT_FALSE(account.IsOverShare(now));
  }
}

TEST(FairShareMeter, WhoAsksForMoreThanIsForgivenIsOverItsShareAtLast) {
  FairShareMeter account;
  for (std::int64_t now = 1; now < 1000; ++now) {
    account.Charge(2 * FairShareMeter::kDecayBytesPerMs, now);
  }
  EXPECT_TRUE(account.IsOverShare(1000));
}

TEST(FairShareMeter, ForgetsInASecondWhateverItWas) {
  FairShareMeter account;
  account.Charge(1'000'000'000, 5000);
  EXPECT_EQ(account.RecentBytes(5000), FairShareMeter::kRecentBytesMax);
  EXPECT_TRUE(account.IsOverShare(5000 + 500));
  EXPECT_EQ(account.RecentBytes(5000 + 1024), 0U);
}

TEST(FairShareMeter, KnowsNothingOfHowLongAgoItWas) {
  FairShareMeter account;
  account.Charge(10'000, 1);
  EXPECT_EQ(account.RecentBytes(std::int64_t{1} << 31), 0U);
  account.Charge(100, (std::int64_t{1} << 40) + 5000);
  EXPECT_EQ(account.RecentBytes((std::int64_t{1} << 40) + 5001), 100U - 64U);
}

}  // namespace
}  // namespace fairlock::net
