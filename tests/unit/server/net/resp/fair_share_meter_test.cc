#include "server/net/resp/fair_share_meter.h"

#include <gtest/gtest.h>

namespace fairlock::net {
namespace {

TEST(FairShareMeter, AClientWithinTheDecayIsNeverOverItsShare) {
  FairShareMeter meter;
  for (std::int64_t now = 1; now < 10'000; ++now) {
    meter.Charge(FairShareMeter::kDecayBytesPerMs, now);
    ASSERT_FALSE(meter.IsOverShare(now));
  }
}

TEST(FairShareMeter, AClientAboveTheDecayIsOverItsShareEventually) {
  FairShareMeter meter;
  for (std::int64_t now = 1; now < 1000; ++now) {
    meter.Charge(2 * FairShareMeter::kDecayBytesPerMs, now);
  }
  EXPECT_TRUE(meter.IsOverShare(1000));
}

TEST(FairShareMeter, IsClearAfterASecondWithoutRequests) {
  FairShareMeter meter;
  meter.Charge(1'000'000'000, 5000);
  EXPECT_EQ(meter.RecentBytes(5000), FairShareMeter::kRecentBytesMax);
  EXPECT_TRUE(meter.IsOverShare(5000 + 500));
  EXPECT_EQ(meter.RecentBytes(5000 + 1024), 0U);
}

TEST(FairShareMeter, WorkIsClearAfterEightSecondsAndBytesAddNothingToIt) {
  FairShareMeter meter;
  meter.ChargeWork(100 * FairShareMeter::kRecentWorkMax, 5000);
  EXPECT_EQ(meter.RecentBytes(5000), FairShareMeter::kRecentWorkMax);
  meter.Charge(1000, 5000);
  EXPECT_EQ(meter.RecentBytes(5000), FairShareMeter::kRecentWorkMax);
  EXPECT_TRUE(meter.IsOverShare(12'000));
  EXPECT_EQ(meter.RecentBytes(5000 + 8192), 0U);
}

TEST(FairShareMeter, SurvivesWrapAroundOfTheTime) {
  FairShareMeter meter;
  meter.Charge(10'000, 1);
  EXPECT_EQ(meter.RecentBytes(std::int64_t{1} << 31), 0U);
  meter.Charge(100, (std::int64_t{1} << 40) + 5000);
  EXPECT_EQ(meter.RecentBytes((std::int64_t{1} << 40) + 5001), 100U - 64U);
}

}  // namespace
}  // namespace fairlock::net
