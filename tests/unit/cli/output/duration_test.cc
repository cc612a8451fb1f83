#include "cli/output/duration.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace fairlock::cli {
namespace {

TEST(Duration, IsNumbersWithUnitsFromLargeToSmall) {
  EXPECT_EQ(ParseDuration("0"), 0);
  EXPECT_EQ(ParseDuration("500ms"), 500);
  EXPECT_EQ(ParseDuration("30s"), 30'000);
  EXPECT_EQ(ParseDuration("1.5s"), 1500);
  EXPECT_EQ(ParseDuration("10m"), 600'000);
  EXPECT_EQ(ParseDuration("1h30m"), 5'400'000);
  EXPECT_EQ(ParseDuration("2d"), 172'800'000);
  EXPECT_EQ(ParseDuration("1m500ms"), 60'500);
}

TEST(Duration, IsNothingElse) {
  for (const char* const wrong : {"", "30", "s", "-1s", "3x", "1s2m", "1m1m", "1.5h30m", "1e3s",
                                  " 1s", "1s ", "inf", "99999999999999999d"}) {
    EXPECT_EQ(ParseDuration(wrong), std::nullopt) << wrong;
  }
}

TEST(Duration, IsShownWithTwoUnitsAtMostAndNeverRoundedUp) {
  EXPECT_EQ(ShowDuration(0), "0ms");
  EXPECT_EQ(ShowDuration(999), "999ms");
  EXPECT_EQ(ShowDuration(1000), "1s");
  EXPECT_EQ(ShowDuration(4299), "4.2s");
  EXPECT_EQ(ShowDuration(59'999), "59.9s");
  EXPECT_EQ(ShowDuration(92'000), "1m32s");
  EXPECT_EQ(ShowDuration(3'600'000 * 3 + 4 * 60'000 + 59'999), "3h04m");
  EXPECT_EQ(ShowDuration(86'400'000 * 2 + 3'600'000 * 5), "2d05h");
  EXPECT_EQ(ShowDuration(-1500), "-1.5s");
}

TEST(Duration, MomentIsInLocalTime) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  EXPECT_EQ(ShowMoment(1'700'000'000'123), "2023-11-14 22:13:20");
  EXPECT_EQ(ShowTimeOfDay(1'700'000'000'007), "22:13:20.007");
}

}  // namespace
}  // namespace fairlock::cli
