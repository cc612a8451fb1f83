#include "server/record/label_statistics.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace fairlock::record {
namespace {

using engine::Event;
using engine::EventKind;

constexpr engine::TimeMs kMinute = LabelStatistics::kMinuteMs;

struct Row {
  std::string label;
  engine::TimeMs since = 0;
  std::array<std::uint64_t, kCounterNames.size()> counts{};
  engine::DurationMs longest_wait_ms = 0;
  engine::DurationMs longest_hold_ms = 0;
  std::uint64_t holds = 0;

  std::uint64_t operator[](Counter counter) const {
    return counts[static_cast<std::size_t>(counter)];
  }
};

std::vector<Row> Read(const LabelStatistics& statistics, engine::TimeMs now,
                      const StatisticsQuery& query = {}) {
  std::vector<Row> rows;
  statistics.Read(query, now, [&](const StatisticsRow& row) {
    rows.push_back({std::string(row.label), row.since, row.counts.counts,
                    row.counts.waits.longest_ms(), row.counts.holds.longest_ms(),
                    row.counts.holds.CountAll()});
  });
  return rows;
}

std::string LabelsOf(const std::vector<Row>& rows) {
  std::string labels;
  for (const Row& row : rows) labels += row.label + " ";
  return labels;
}

Event EventOf(EventKind kind, engine::TimeMs at, std::string_view label = "") {
  Event event;
  event.kind = kind;
  event.key = {0, "key"};
  event.owner = "owner";
  event.label = label;
  event.at = at;
  event.token = 1;
  return event;
}

TEST(LabelStatistics, CountsEachKindUnderItsName) {
  const std::map<EventKind, Counter> expected = {
      {EventKind::kGranted, Counter::kAcquired},
      {EventKind::kTransferred, Counter::kAcquired},
      {EventKind::kDenied, Counter::kDenied},
      {EventKind::kQueued, Counter::kQueued},
      {EventKind::kReacquired, Counter::kReacquired},
      {EventKind::kReleased, Counter::kReleased},
      {EventKind::kExpired, Counter::kExpired},
      {EventKind::kTimedOut, Counter::kTimedOut},
      {EventKind::kBroken, Counter::kBroken},
      {EventKind::kDisconnected, Counter::kDisconnected},
  };
  for (const auto& [kind, counter] : expected) {
    LabelStatistics statistics(2, 0);
    statistics.Take(EventOf(kind, 1000));
    const std::vector<Row> rows = Read(statistics, 1000);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows.front()[counter], 1U);
    std::uint64_t all = 0;
    for (const std::uint64_t count : rows.front().counts) all += count;
    EXPECT_EQ(all, 1U);
  }
}

TEST(LabelStatistics, WhatIsNoCounterIsNotCounted) {
  LabelStatistics statistics(2, 0);
  for (const EventKind kind : {EventKind::kRenewed, EventKind::kVacated, EventKind::kUndone,
                               EventKind::kCancelled, EventKind::kLapsed}) {
    statistics.Take(EventOf(kind, 1000));
  }
  EXPECT_TRUE(Read(statistics, 1000).empty());
}

TEST(LabelStatistics, AGrantThatWaitedIsCountedTwiceAndItsWaitIsKept) {
  LabelStatistics statistics(2, 0);
  Event event = EventOf(EventKind::kGranted, 1000);
  event.has_waited = true;
  event.waited_ms = 250;
  statistics.Take(event);
  const Row row = Read(statistics, 1000).front();
  EXPECT_EQ(row[Counter::kAcquired], 1U);
  EXPECT_EQ(row[Counter::kGrantedAfterWait], 1U);
  EXPECT_EQ(row.longest_wait_ms, 250);
  EXPECT_EQ(row.holds, 0U);
}

TEST(LabelStatistics, EveryEndOfAHoldKeepsHowLongItLasted) {
  LabelStatistics statistics(2, 0);
  engine::DurationMs held_ms = 10;
  for (const EventKind kind :
       {EventKind::kReleased, EventKind::kExpired, EventKind::kDisconnected, EventKind::kBroken}) {
    Event event = EventOf(kind, 1000);
    event.held_ms = held_ms++;
    statistics.Take(event);
  }
  const Row row = Read(statistics, 1000).front();
  EXPECT_EQ(row.holds, 4U);
  EXPECT_EQ(row.longest_hold_ms, 13);
}

TEST(LabelStatistics, AnEndOfUnknownAgeIsCountedWithoutADuration) {
  LabelStatistics statistics(1, 0);
  for (const engine::TimeMs at : {engine::TimeMs{10}, LabelStatistics::kMinuteMs + 10}) {
    statistics.TakeWithoutAge(EventOf(EventKind::kBroken, at));
  }
  const std::vector<Row> rows = Read(statistics, LabelStatistics::kMinuteMs + 20);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0][Counter::kBroken], 2U);
  EXPECT_EQ(rows[0].holds, 0U);
}

TEST(LabelStatistics, LabelsComeInTheOrderOfTheirNamesTheUnlabelledFirst) {
  LabelStatistics statistics(10, 0);
  for (const std::string_view label : {"zebra", "", "ant", "mole"}) {
    statistics.Take(EventOf(EventKind::kGranted, 1000, label));
  }
  EXPECT_EQ(LabelsOf(Read(statistics, 1000)), " ant mole zebra ");
  EXPECT_EQ(LabelsOf(Read(statistics, 1000, {.label = "mole"})), "mole ");
  EXPECT_EQ(LabelsOf(Read(statistics, 1000, {.label = ""})), " ");
  EXPECT_EQ(LabelsOf(Read(statistics, 1000, {.label = "bee"})), "");
}

TEST(LabelStatistics, MinutesAreAddedUpAsFarAsAskedFor) {
  LabelStatistics statistics(2, 0);
  for (int minute = 0; minute < 100; ++minute) {
    statistics.Take(EventOf(EventKind::kGranted, minute * kMinute));
    statistics.Take(EventOf(EventKind::kGranted, minute * kMinute + kMinute - 1));
  }
  const engine::TimeMs now = 99 * kMinute + 30'000;
  EXPECT_EQ(Read(statistics, now, {.minutes = 1}).front()[Counter::kAcquired], 2U);
  EXPECT_EQ(Read(statistics, now, {.minutes = 60}).front()[Counter::kAcquired], 120U);
  EXPECT_EQ(Read(statistics, now, {.minutes = 1440}).front()[Counter::kAcquired], 200U);
  EXPECT_EQ(Read(statistics, now + 60 * kMinute, {.minutes = 61}).front()[Counter::kAcquired], 2U);
  EXPECT_TRUE(Read(statistics, now + 60 * kMinute, {.minutes = 60}).empty());
}

TEST(LabelStatistics, ByMinuteEachMinuteInWhichSomethingHappenedIsARow) {
  LabelStatistics statistics(2, 0);
  statistics.Take(EventOf(EventKind::kGranted, 10 * kMinute + 5));
  statistics.Take(EventOf(EventKind::kReleased, 12 * kMinute));
  statistics.Take(EventOf(EventKind::kReleased, 12 * kMinute + 1));
  statistics.Take(EventOf(EventKind::kDenied, 15 * kMinute));
  const std::vector<Row> rows =
      Read(statistics, 15 * kMinute + 1, {.minutes = 60, .is_by_minute = true});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].since, 10 * kMinute);
  EXPECT_EQ(rows[0][Counter::kAcquired], 1U);
  EXPECT_EQ(rows[1].since, 12 * kMinute);
  EXPECT_EQ(rows[1][Counter::kAcquired], 0U);
  EXPECT_EQ(rows[1][Counter::kReleased], 2U);
  EXPECT_EQ(rows[2].since, 15 * kMinute);
  EXPECT_EQ(rows[2][Counter::kDenied], 1U);
}

TEST(LabelStatistics, MoreLabelsThanAllowedAreCountedTogether) {
  LabelStatistics statistics(3, 0);
  for (const std::string_view label : {"a", "b", "c", "d", "e"}) {
    statistics.Take(EventOf(EventKind::kGranted, 1000, label));
  }
  const std::vector<Row> rows = Read(statistics, 1000);
  EXPECT_EQ(LabelsOf(rows), "a b c other ");
  EXPECT_EQ(rows[3][Counter::kAcquired], 2U);
}

TEST(LabelStatistics, ALabelThatHadNothingForADayGivesWayToANewOne) {
  LabelStatistics statistics(2, 0);
  statistics.Take(EventOf(EventKind::kGranted, 0, "old"));
  statistics.Take(EventOf(EventKind::kGranted, 0, "busy"));
  const engine::TimeMs later = (LabelStatistics::kMinutesMax + 1) * kMinute;
  statistics.Take(EventOf(EventKind::kGranted, later - kMinute, "busy"));
  statistics.Take(EventOf(EventKind::kGranted, later - kMinute, "new"));
  EXPECT_EQ(LabelsOf(Read(statistics, later, {.minutes = 60})), "busy other ");
  statistics.Take(EventOf(EventKind::kGranted, later, "new"));
  const std::vector<Row> rows = Read(statistics, later, {.minutes = 1440});
  EXPECT_EQ(LabelsOf(rows), "busy new other ");
  EXPECT_EQ(rows[1][Counter::kAcquired], 1U);
}

TEST(LabelStatistics, ADayOfManyBusyLabelsStaysWithinItsMemory) {
  constexpr std::size_t kLabels = 10;
  LabelStatistics statistics(kLabels, 0);
  EXPECT_EQ(statistics.complete_since(), 0);
  // All durations are different, which is the worst case for packing.
  std::uint64_t state = 1;
  for (int minute = 0; minute < LabelStatistics::kMinutesMax; ++minute) {
    for (std::size_t label = 0; label < 2 * kLabels; ++label) {
      for (int i = 0; i < 50; ++i) {
        state = state * 6'364'136'223'846'793'005ULL + 1;
        const std::string name = "label-" + std::to_string(label);
        Event event = EventOf(EventKind::kReleased, minute * kMinute, name);
        event.held_ms = static_cast<engine::DurationMs>(state >> (29 + (state >> 59)));
        statistics.Take(event);
      }
    }
  }
  EXPECT_LE(statistics.memory_bytes(), LabelStatistics::MemoryBytesMax(kLabels));
  EXPECT_LE(LabelStatistics::MemoryBytesMax(kLabels), kLabels * 170 * 1024U);
  EXPECT_EQ(statistics.label_count(), kLabels + 2);
  // Part of the day was dropped; complete_since says from when on the statistics are complete.
  const engine::TimeMs now = LabelStatistics::kMinutesMax * kMinute - 1;
  const engine::TimeMs since = statistics.complete_since();
  ASSERT_GT(since, 0);
  ASSERT_LT(since, now - 60 * kMinute);
  const auto minutes = static_cast<int>((now + 1 - since) / kMinute);
  for (const Row& row : Read(statistics, now, {.minutes = minutes})) {
    const auto labels = row.label == "other" ? kLabels : 1;
    EXPECT_EQ(row[Counter::kReleased], static_cast<std::uint64_t>(minutes) * 50 * labels);
  }
}

}  // namespace
}  // namespace fairlock::record
