#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/command/server_parts.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(RecordCommands, TheSameTimeIsTheSameNumberAlthoughTheClocksTickApart) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("LOCK k owner");
  const std::string at = "\"at\" 1700000000123 ";
  EXPECT_THAT(client.Say("HISTORY k"), HasSubstr(at));
  server.AdvanceBy(1);
  EXPECT_THAT(client.Say("HISTORY k"), HasSubstr(at));
}

TEST(RecordCommands, WhenTheWallClockIsSetThePastIsToldInItsTime) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("LOCK k owner");
  server.environment().unix_time_us += 3'600'000'000;
  EXPECT_THAT(client.Say("HISTORY k"), HasSubstr("\"at\" 1700003600123 "));
}

TEST(RecordCommands, BreakTakesOwnerAndReasonEachAloneAndBoth) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("LOCK k REASON");
  EXPECT_EQ(client.Say("BREAK k REASON"), "1");
  client.Say("LOCK k owner");
  EXPECT_EQ(client.Say("BREAK k REASON stuck"), "1");
  EXPECT_THAT(client.Say("HISTORY k"), HasSubstr("\"comment\" \"stuck\""));
  client.Say("LOCK j owner");
  EXPECT_EQ(client.Say("BREAK j other REASON gone"), "0");
  EXPECT_EQ(client.Say("BREAK j owner REASON gone"), "1");
  EXPECT_THAT(client.Say("HISTORY j"), HasSubstr("\"comment\" \"gone\""));
  EXPECT_THAT(client.Say("BREAK k owner BECAUSE stuck"), HasSubstr("REASON"));
  EXPECT_THAT(client.Say({"BREAK", "k", "REASON", std::string(257, 'x')}), HasSubstr("REASON"));
}

TEST(RecordCommands, AReservationThatIsBrokenWithItsPlaceSaysByWhom) {
  TestServer server;
  TestClient& alice = server.Connect("10.0.0.1:1");
  TestClient& admin = server.Connect("10.0.0.2:1");
  alice.Say("LOCK k alice MINHOLD 10s");
  alice.Say("UNLOCK k alice");
  EXPECT_EQ(admin.Say("BREAK k REASON cool"), "0");
  const std::string history = admin.Say("HISTORY k");
  EXPECT_THAT(history, HasSubstr("\"event\" \"vacated\""));
  EXPECT_THAT(history, HasSubstr("\"by\" \"addr=10.0.0.2:1 user=default\" \"comment\" \"cool\""));
}

TEST(RecordCommands, LooksAtWhatIsOverdueFirst) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("LOCK k owner PX 10");
  server.SkipTo(server.now() + 1000);
  EXPECT_THAT(client.Say("HISTORY k"), HasSubstr("\"event\" \"expired\""));
}

TEST(RecordCommands, SayWhichOptionTurnedThemOff) {
  TestServer server({}, {.history_bytes = 0, .labels_max = 0});
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Say("HISTORY k"),
            "-ERR HISTORY: history_memory is 0, so nothing is kept; set it to another value and "
            "restart");
  EXPECT_THAT(client.Say("STATS"), HasSubstr("-ERR STATS: stats_labels is 0"));
  client.Say("LOCK k owner");
  EXPECT_EQ(client.Say("BREAK k"), "1");
}

// Other keys may have displaced them from the history.
TEST(RecordCommands, TheGrantAndThePlacesOfALiveLockAreAlwaysKnown) {
  TestServer server({}, {.history_bytes = record::History::kBytesMin});
  TestClient& client = server.Connect();
  TestClient& waiter = server.Connect();
  client.Say("LOCK k holder PX 1000000");
  server.AdvanceBy(5);
  waiter.Say("LOCK k waiter PX 1000 WAIT 1000s");
  server.AdvanceBy(5);
  const std::string before = client.Say("HISTORY k");
  EXPECT_THAT(before, HasSubstr("\"source\" \"memory\""));
  EXPECT_THAT(before, Not(HasSubstr("\"source\" \"lock\"")));
  EXPECT_THAT(before, HasSubstr("\"complete_since\" 1700000000123 \"rare_since\" 1700000000123 "
                                "\"denied_since\" 1700000000123"));
  for (int i = 0; i < 5000; ++i) {
    const std::string key = "busy:" + std::to_string(i);
    client.Say("LOCK " + key + " holder");
    client.Say("UNLOCK " + key + " holder");
    server.AdvanceBy(1);
  }
  const std::string after = client.Say("HISTORY k");
  EXPECT_THAT(after, Not(HasSubstr("\"source\" \"memory\"")));
  EXPECT_THAT(after, testing::ContainsRegex("\"at\" 1700000000128 \"event\" \"queued\" \"key\" "
                                            "\"k\" \"owner\" \"waiter\".*\"at\" 1700000000123 "
                                            "\"event\" \"granted\" \"key\" \"k\" \"owner\" "
                                            "\"holder\""));
  EXPECT_THAT(after, Not(HasSubstr("\"complete_since\" 1700000000123 ")));
  EXPECT_THAT(client.Say("HISTORY k OWNER waiter"), Not(HasSubstr("granted")));
  EXPECT_THAT(client.Say("HISTORY k SINCE 1ms"), HasSubstr("\"events\" []"));
  EXPECT_THAT(client.Say("HISTORY k COUNT 1"), HasSubstr("granted"));
  EXPECT_THAT(client.Say("HISTORY k COUNT 1"), Not(HasSubstr("queued")));
  EXPECT_THAT(client.Say("HISTORY *"), Not(HasSubstr("\"lock\"")));
  EXPECT_THAT(client.Say("HISTORY busy:1"), HasSubstr("\"events\" []"));
}

}  // namespace
}  // namespace fairlock::command
