// What a leader does while etcd does not confirm that it leads.
#include <gtest/gtest.h>

#include "server/persist/state_log.h"

namespace fairlock::persist {
namespace {

constexpr StateLogState kLoading{};
constexpr StateLogState kSure{.is_ready = true};
constexpr StateLogState kUnsure{.is_ready = true, .is_unsure = true};
constexpr StateLogState kFailed{.is_ready = true, .has_failed = true};

TEST(Confirmation, LeasesStandStillFromTheTakeOverUntilTheFirstConfirmation) {
  Confirmation confirmation;
  EXPECT_FALSE(confirmation.stops_leases());
  confirmation.See(kLoading, 10'000);
  EXPECT_TRUE(confirmation.stops_leases());
  EXPECT_FALSE(confirmation.is_unsure());
  EXPECT_EQ(confirmation.unconfirmed_ms(10'500), 500);
  confirmation.See(kSure, 11'000);
  EXPECT_FALSE(confirmation.stops_leases());
  EXPECT_EQ(confirmation.close_at(), engine::kNever);
  EXPECT_EQ(confirmation.unconfirmed_ms(12'000), 0);
}

TEST(Confirmation, ClientsAreClosedAgainAndAgainWhileItIsUnsure) {
  Confirmation confirmation;
  confirmation.See(kSure, 10'000);
  confirmation.See(kUnsure, 20'000);
  EXPECT_TRUE(confirmation.is_unsure());
  EXPECT_TRUE(confirmation.stops_leases());
  EXPECT_EQ(confirmation.unconfirmed_ms(20'000), kUnsureAfterMs);
  EXPECT_EQ(confirmation.close_at(), 23'000);
  EXPECT_TRUE(confirmation.NoteClosed(23'001));
  EXPECT_EQ(confirmation.close_at(), 26'001);
  EXPECT_FALSE(confirmation.NoteClosed(26'001));
  confirmation.See(kSure, 27'000);
  EXPECT_EQ(confirmation.close_at(), engine::kNever);
  EXPECT_FALSE(confirmation.is_unsure());
  confirmation.See(kUnsure, 30'000);
  EXPECT_TRUE(confirmation.NoteClosed(33'000));
}

TEST(Confirmation, ItIsUnsureIfNothingConfirmsItsLoad) {
  Confirmation confirmation;
  confirmation.See(kLoading, 10'000);
  EXPECT_EQ(confirmation.close_at(), 13'000);
  EXPECT_TRUE(confirmation.NoteClosed(13'000));
  EXPECT_TRUE(confirmation.is_unsure());
  EXPECT_EQ(confirmation.unconfirmed_ms(13'000), 3'000);
}

// A leader that has failed is about to stop, and must not be called the leader any more.
TEST(Confirmation, ItIsUnsureWhenItHasFailed) {
  Confirmation confirmation;
  confirmation.See(kSure, 10'000);
  confirmation.See(kFailed, 11'000);
  EXPECT_TRUE(confirmation.is_unsure());
  EXPECT_FALSE(confirmation.stops_leases());
  EXPECT_EQ(confirmation.close_at(), engine::kNever);
  EXPECT_EQ(confirmation.unconfirmed_ms(12'000), 0);
}

}  // namespace
}  // namespace fairlock::persist
