#include "cli/views/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlock::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Concerns(const std::string& info, const Contended& contended = {}) {
  return ConcernsOf(InfoReport("connected_clients:5\r\nmaxclients:10\r\n" + info), contended);
}

TEST(Verdict, AServerWithoutConcernsIsHealthy) {
  EXPECT_THAT(Concerns("short_of_disk:0\r\nlimit_overrides:1\r\n"
                       "limit_override0:pattern=\"a,limit=0\",db=0,limit=20,left_ms=7\r\n"),
              IsEmpty());
  EXPECT_EQ(VerdictText({}), "healthy");
  EXPECT_EQ(LongestWaitText({}, Screen()), "nobody waits");
}

TEST(Verdict, NamesEachConcern) {
  EXPECT_THAT(
      Concerns("storage_failed:1\r\nshort_of_disk:1\r\nfree_disk_bytes:1048576\r\n"
               "short_of_memory:1\r\nused_memory:2097152\r\nhistory_file_dropped:3\r\n"),
      ElementsAre("writing to disk has failed", "disk short: 1.0 MB free, new locks are refused",
                  "memory short: 2.0 MB used, new locks are refused",
                  "the history file has lost 3 events"));
  EXPECT_THAT(Concerns("connected_clients:10\r\n"),
              ElementsAre("10 of 10 possible connections are open"));
  EXPECT_THAT(Concerns("limit_overrides:2\r\nlimit_override0:pattern=\"a\",db=0,limit=0\r\n"
                       "limit_override1:pattern=\"b\",db=0,limit=0,left_ms=9\r\n"),
              ElementsAre("2 drains in force (`fairlockctl limit list`)"));
  EXPECT_EQ(VerdictText({.concerns = {"a", "b"}, .longest = {}}), "needs attention: a; b");
}

TEST(Verdict, CountsLongWaits) {
  EXPECT_THAT(Concerns("", {.rows = {}, .long_waits = 1}),
              ElementsAre("1 lock has been waited for longer than 1m "
                          "(`fairlockctl locks --waiting 1m`)"));
  EXPECT_THAT(Concerns("", {.rows = {}, .is_whole = false, .long_waits = 3}),
              ElementsAre("at least 3 locks have been waited for longer than 1m "
                          "(`fairlockctl locks --waiting 1m`)"));
}

TEST(Verdict, TheLongestWaitHasAnOwnerUnlessItHasGone) {
  const Verdict verdict{
      .concerns = {},
      .longest = LongestWait{.key = "k", .database = 3, .owner = "o", .waited_ms = 92'000}};
  EXPECT_THAT(LongestWaitText(verdict, Screen()),
              testing::StartsWith("k, database 3: o for 1m32s, since 1970-"));
  EXPECT_THAT(LongestWaitText({.concerns = {}, .longest = LongestWait{"k", 0, "", 0, 0}}, Screen()),
              testing::StartsWith("k, database 0: for 0ms"));
}

}  // namespace
}  // namespace fairlock::cli
