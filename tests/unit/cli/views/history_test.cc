#include "cli/views/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "cli/connection/reply_fields.h"
#include "tests/unit/cli/reply_test_support.h"

namespace fairlock::cli {
namespace {

using testing::ElementsAre;

HistoryPage PageOf(const std::vector<std::int64_t>& times, std::optional<std::int64_t> next_until,
                   std::optional<std::int64_t> oldest = 1) {
  HistoryPage page;
  for (const std::int64_t at : times) page.events.push_back(Map({{"at", Number(at)}}));
  page.next_until = next_until;
  page.oldest_unix_ms = oldest;
  return page;
}

std::vector<std::int64_t> TimesOf(const HistoryPage& page) {
  std::vector<std::int64_t> times;
  for (const protocol::Reply& event : page.events) times.push_back(IntegerOr(event, "at"));
  return times;
}

TEST(MergedHistory, HasTheNewestEventsOfAll) {
  const HistoryPage merged =
      MergedHistory({PageOf({90, 70, 50}, 49), PageOf({80, 60}, std::nullopt)}, 3);
  EXPECT_THAT(TimesOf(merged), ElementsAre(90, 80, 70));
  EXPECT_EQ(merged.next_until, 69);
  EXPECT_FALSE(merged.next_before);
}

TEST(MergedHistory, DoesNotSplitAMillisecond) {
  const HistoryPage merged =
      MergedHistory({PageOf({90, 70}, std::nullopt), PageOf({70, 70, 60}, std::nullopt)}, 2);
  EXPECT_THAT(TimesOf(merged), ElementsAre(90, 70, 70, 70));
  EXPECT_EQ(merged.next_until, 69);
}

TEST(MergedHistory, EndsWhereTheLongestPageEnds) {
  const HistoryPage merged =
      MergedHistory({PageOf({90, 70}, 69, 10), PageOf({}, std::nullopt, std::nullopt)}, 2);
  EXPECT_THAT(TimesOf(merged), ElementsAre(90, 70));
  EXPECT_EQ(merged.next_until, 69);
  EXPECT_EQ(merged.oldest_unix_ms, 10);
  EXPECT_FALSE(MergedHistory({PageOf({9}, {}), PageOf({8}, {})}, 2).next_until);
}

}  // namespace
}  // namespace fairlock::cli
