#include "server/sentinel/leader_watch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/server/command/fake_fleet_test_support.h"

namespace fairlock::sentinel {
namespace {

using Lines = std::vector<std::string>;

class LeaderWatchTest : public testing::Test {
 protected:
  Lines Look(std::string_view leader) {
    fleet_.SetLeader(leader);
    Lines lines;
    for (const Message& message : watch_.Look()) {
      lines.push_back(message.channel + " " + message.text);
    }
    return lines;
  }

  command::FakeFleet fleet_;
  LeaderWatch watch_{fleet_};
};

TEST_F(LeaderWatchTest, TheFirstLeaderIsNoChange) {
  EXPECT_EQ(Look(""), Lines());
  EXPECT_TRUE(watch_.View().is_down);
  EXPECT_EQ(Look("lock2"), Lines());
  EXPECT_FALSE(watch_.View().is_down);
  EXPECT_EQ(watch_.View().host, "lock2.example");
  EXPECT_EQ(Look("lock2"), Lines());
}

TEST_F(LeaderWatchTest, AnotherLeaderIsASwitch) {
  Look("lock2");
  EXPECT_EQ(Look("lock3"),
            (Lines{"+switch-master main lock2.example 3247 10.0.0.3 3250",
                   "+slave slave lock2.example:3247 lock2.example 3247 @ main 10.0.0.3 3250"}));
  EXPECT_EQ(Look("lock3"), Lines());
}

TEST_F(LeaderWatchTest, TheLastLeaderIsRememberedWhileNobodyLeads) {
  Look("lock2");
  EXPECT_EQ(Look(""), Lines{"+odown master main lock2.example 3247 #quorum 1/1"});
  EXPECT_EQ(watch_.View().host, "lock2.example");
  EXPECT_EQ(watch_.View().port, 3247);
  EXPECT_TRUE(watch_.View().is_down);
  EXPECT_EQ(Look(""), Lines());
  EXPECT_EQ(Look("lock1").front(), "+switch-master main lock2.example 3247 lock1.example 3247");
}

TEST_F(LeaderWatchTest, TheSameLeaderMayLeadAgain) {
  Look("lock2");
  Look("");
  EXPECT_EQ(Look("lock2"), Lines{"-odown master main lock2.example 3247"});
}

TEST_F(LeaderWatchTest, AnUnsureLeaderIsDown) {
  Look("lock1");
  fleet_.report.is_unsure = true;
  EXPECT_EQ(Look("lock1"), Lines{"+odown master main lock1.example 3247 #quorum 1/1"});
  EXPECT_TRUE(watch_.View().is_down);
}

}  // namespace
}  // namespace fairlock::sentinel
