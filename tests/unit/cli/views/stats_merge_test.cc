#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/connection/reply_fields.h"
#include "cli/views/history.h"
#include "tests/unit/cli/reply_test_support.h"

namespace fairlock::cli {
namespace {

using protocol::Reply;
using testing::ElementsAre;

constexpr std::int64_t kMinute = 60'000;

Reply StatsRow(std::string_view label, std::int64_t since, std::int64_t acquired,
               std::optional<std::int64_t> p99) {
  return Map({{"label", Text(label)},
              {"since", Number(since)},
              {"acquired", Number(acquired)},
              {"wait_p99_ms", p99 ? Number(*p99) : Reply()}});
}

Reply StatsOf(std::int64_t complete_since, std::vector<Reply> rows) {
  return Map({{"complete_since", Number(complete_since)}, {"labels", List(std::move(rows))}});
}

// "label since acquired p99", with "-" for none.
std::vector<std::string> RowTexts(const Reply& stats) {
  std::vector<std::string> texts;
  for (const Reply& row : FindField(stats, "labels")->elements) {
    const auto p99 = IntegerField(row, "wait_p99_ms");
    texts.push_back(TextField(row, "label") + " " + std::to_string(IntegerOr(row, "since")) + " " +
                    std::to_string(IntegerOr(row, "acquired")) + " " +
                    (p99 ? std::to_string(*p99) : "-"));
  }
  return texts;
}

TEST(MergedStats, AddsCountsAndKeepsTheHighestPercentile) {
  const Reply merged = MergedStats(
      {StatsOf(100, {StatsRow("", 50, 1, std::nullopt), StatsRow("b", 50, 2, std::nullopt)}),
       StatsOf(300, {StatsRow("a", 40, 4, 7), StatsRow("b", 40, 8, 9)}),
       StatsOf(200, {StatsRow("b", 60, 16, 5)})},
      false);
  EXPECT_EQ(IntegerOr(merged, "complete_since"), 300);
  EXPECT_THAT(RowTexts(merged), ElementsAre(" 50 1 -", "a 40 4 7", "b 40 26 9"));
}

TEST(MergedStats, AddsTheRowsOfTheSameMinute) {
  const Reply merged = MergedStats(
      {StatsOf(0, {StatsRow("a", kMinute + 10, 1, 1), StatsRow("a", 2 * kMinute + 10, 2, 1)}),
       StatsOf(0, {StatsRow("a", kMinute + 50'000, 4, 1), StatsRow("a", 5 * kMinute, 8, 1)})},
      true);
  EXPECT_THAT(RowTexts(merged), ElementsAre("a 60010 5 1", "a 120010 2 1", "a 300000 8 1"));
}

TEST(MergedStats, LeavesASingleReplyAlone) {
  const Reply reply = StatsOf(1, {StatsRow("z", 1, 1, 1), StatsRow("a", 1, 1, 1)});
  EXPECT_EQ(MergedStats({reply}, false), reply);
}

}  // namespace
}  // namespace fairlock::cli
