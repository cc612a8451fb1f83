#include "server/net/work_account.h"

#include <gtest/gtest.h>

namespace fairlock::net {
namespace {

TEST(WorkAccount, WhoAsksNowAndThenIsNeverOverItsShare) {
  WorkAccount account;
  for (std::int64_t now = 1; now < 10'000; ++now) {
    account.Charge(WorkAccount::kForgivenBytesPerMs, now);
    ASSERT_FALSE(account.IsOverShare(now));
  }
}

TEST(WorkAccount, WhoAsksForMoreThanIsForgivenIsOverItsShareAtLast) {
  WorkAccount account;
  for (std::int64_t now = 1; now < 1000; ++now) {
    account.Charge(2 * WorkAccount::kForgivenBytesPerMs, now);
  }
  EXPECT_TRUE(account.IsOverShare(1000));
}

TEST(WorkAccount, ForgetsInASecondWhateverItWas) {
  WorkAccount account;
  account.Charge(1'000'000'000, 5000);
  EXPECT_EQ(account.OwedBytes(5000), WorkAccount::kOwedBytesMax);
  EXPECT_TRUE(account.IsOverShare(5000 + 500));
  EXPECT_EQ(account.OwedBytes(5000 + 1024), 0U);
}

TEST(WorkAccount, KnowsNothingOfHowLongAgoItWas) {
  WorkAccount account;
  account.Charge(10'000, 1);
  EXPECT_EQ(account.OwedBytes(std::int64_t{1} << 31), 0U);
  account.Charge(100, (std::int64_t{1} << 40) + 5000);
  EXPECT_EQ(account.OwedBytes((std::int64_t{1} << 40) + 5001), 100U - 64U);
}

}  // namespace
}  // namespace fairlock::net
