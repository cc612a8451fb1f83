#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "cli/output/duration.h"
#include "text/local_time.h"

namespace fairlock::cli {
namespace {

constexpr std::int64_t kHour = 3'600'000;
constexpr std::int64_t kDay = 24 * kHour;

// In a zone one hour east of UTC in winter, and two in summer.
class Moments : public testing::Test {
 protected:
  Moments() {
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
  }
  ~Moments() override {
    unsetenv("TZ");
    tzset();
  }

  static constexpr std::int64_t kNow = 1'795'806'380'500;  // 2026-11-27T20:06:20.500+01:00
  static std::optional<std::int64_t> Parsed(std::string_view text) {
    return ParseMoment(text, kNow);
  }
};

TEST_F(Moments, AreShownAsInTheLogAndReadBack) {
  EXPECT_EQ(text::LogTime(kNow), "2026-11-27T20:06:20.500+01:00");
  EXPECT_EQ(text::LogTime(kNow - 150 * kDay), "2026-06-30T21:06:20.500+02:00");
  for (std::int64_t i = 0; i < 400; ++i) {
    const std::int64_t at = kNow - i * (kDay - 12'345);
    EXPECT_EQ(Parsed(text::LogTime(at)), at) << text::LogTime(at);
  }
}

TEST_F(Moments, OfEveryForm) {
  EXPECT_EQ(Parsed("now"), kNow);
  EXPECT_EQ(Parsed("2h"), kNow - 2 * kHour);
  EXPECT_EQ(Parsed("1h30m"), kNow - kHour - kHour / 2);
  EXPECT_EQ(Parsed("1795806380500"), kNow);
  EXPECT_EQ(Parsed("20:06"), kNow - 20'500);
  EXPECT_EQ(Parsed("20:06:20"), kNow - 500);
  EXPECT_EQ(Parsed("20:06:20.25"), kNow - 250);
  EXPECT_EQ(Parsed("20:07"), kNow - 20'500 + 60'000 - kDay) << "later than now: of yesterday";
  EXPECT_EQ(Parsed("2026-11-27 20:06:20"), kNow - 500);
  EXPECT_EQ(Parsed("2026-11-27T19:06:20Z"), kNow - 500);
  EXPECT_EQ(Parsed("2026-11-27T12:06:20-0700"), kNow - 500);
  EXPECT_EQ(Parsed("today"), Parsed("2026-11-27"));
  EXPECT_EQ(Parsed("today"), Parsed("00:00"));
  EXPECT_EQ(Parsed("yesterday"), Parsed("2026-11-26"));
  EXPECT_EQ(Parsed("2026-06-30 12:00"), Parsed("2026-06-30T10:00Z"));
}

TEST_F(Moments, ThatAreNoneAreRefused) {
  for (const std::string_view text :
       {"", "-1", "25:00", "20:60", "8:06", "20:06 ", "20:06x", "2026-13-01", "2026-00-10",
        "2026-11-27T", "2026-11-27 20", "2026-11-27 20:06+25:00", "2026-11-27 20:06 CET",
        "tomorrow", "2 h", "99999999999999999999"}) {
    EXPECT_EQ(Parsed(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace fairlock::cli
