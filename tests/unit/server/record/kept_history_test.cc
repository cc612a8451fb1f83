// What the history keeps beside its first ring.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/unit/server/record/history_test_support.h"

namespace fairlock::record {
namespace {

using engine::Event;
using engine::EventKind;

class KeptHistoryTest : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = 2 * History::kKeepsBesideMin;

  // Floods the history with ordinary events.
  void Flood(int count, engine::TimeMs from) {
    for (int i = 0; i < count; ++i) {
      history_.Take(EventOf(EventKind::kGranted, "busy:" + std::to_string(i % 999), "owner",
                            from + i / 100, static_cast<engine::Token>(i)));
    }
  }
  // The kinds of all events that searches of one page after another find.
  std::string KindsOf(HistoryQuery query) const {
    query.before = 0;
    std::string kinds;
    for (int pages = 0; pages < 100'000; ++pages) {
      const HistoryPage page = history_.Search(query);
      for (const PastEvent& event : page.events) kinds += NameOf(event.kind);
      if (!page.next_before) return kinds;
      query.before = page.next_before;
    }
    return "endless";
  }
  static std::string NameOf(EventKind kind) { return std::to_string(static_cast<int>(kind)) + " "; }

  History history_{kBytes, 500};
};

TEST_F(KeptHistoryTest, KnowsItsTimeFromTheBeginning) {
  EXPECT_EQ(history_.known_since().all(), 500);
  EXPECT_EQ(history_.known_since().rare, 500);
  EXPECT_EQ(history_.known_since().denied, 500);
}

// Every kind of event, before a flood of ordinary ones: those that are kept are found, in order and
// once, in searches of any shape.
TEST_F(KeptHistoryTest, KeepsWhatIsRareThroughAFlood) {
  std::string kept;
  for (int kind = 0; kind <= static_cast<int>(EventKind::kLeaving); ++kind) {
    const auto event_kind = static_cast<EventKind>(kind);
    history_.Take(
        EventOf(event_kind, "key", "owner", 1000 + kind, static_cast<engine::Token>(kind + 1)));
    const bool is_kept = kRareEvents.Has(event_kind) || event_kind == EventKind::kDenied;
    if (is_kept) kept = NameOf(event_kind) + kept;
  }
  Flood(100'000, 2000);
  EXPECT_EQ(KindsOf(Of("key")), kept);
  EXPECT_EQ(KindsOf({.until = 1999}), kept);
  for (const std::size_t count : {1U, 2U, 3U}) {
    EXPECT_EQ(KindsOf({.until = 1999, .count_max = count}), kept);
    HistoryQuery query = Of("key");
    query.count_max = count;
    query.looks_max = 16;
    EXPECT_EQ(KindsOf(query), kept);
  }
  EXPECT_EQ(KindsOf({.match = "k*", .kinds = {EventKind::kExpired}}), NameOf(EventKind::kExpired));
  HistoryQuery late = Of("key");
  late.since = 1000 + History::kRepeatMs;
  EXPECT_EQ(KindsOf(late), "");
  const KnownSince known = history_.known_since();
  EXPECT_GT(known.all(), 2000);
  EXPECT_EQ(known.rare, 500);
  EXPECT_EQ(known.denied, 500);
  EXPECT_EQ(history_.oldest_at(), 1000 + static_cast<int>(EventKind::kDenied));
}

TEST_F(KeptHistoryTest, IsNotTakenUpByDenialsExceptThoseOfADeadlock) {
  history_.Take(EventOf(EventKind::kExpired, "key", "owner", 1000, 7));
  Event deadlock = Denial("key", "owner", 1001);
  deadlock.reason = engine::DenialReason::kDeadlock;
  history_.Take(deadlock);
  for (int i = 0; i < 200'000; ++i) {
    history_.Take(Denial("busy", "poller", 2000 + i, "holder", static_cast<engine::Token>(i)));
  }
  EXPECT_EQ(KindsOf({.until = 1999}), NameOf(EventKind::kDenied) + NameOf(EventKind::kExpired));
  EXPECT_GT(history_.known_since().denied, 2000);
  EXPECT_EQ(history_.known_since().rare, 500);
  EXPECT_LE(history_.used_bytes(), kBytes);
}

TEST_F(KeptHistoryTest, CountsRepeatsInTheCopyToo) {
  for (int i = 0; i < 5; ++i) history_.Take(Denial("key", "poller", 1000 + i));
  Flood(100'000, 2000);
  const HistoryPage page = history_.Search(Of("key"));
  ASSERT_EQ(page.events.size(), 1U);
  EXPECT_EQ(page.events[0].count, 5U);
  EXPECT_EQ(page.events[0].last_at, 1004);
}

// Events of all rings, in the same milliseconds.
TEST_F(KeptHistoryTest, EachEventIsFoundOnceInTheOrderInWhichItHappened) {
  constexpr auto kKinds = std::to_array<EventKind>(
      {EventKind::kGranted, EventKind::kDenied, EventKind::kExpired, EventKind::kRenewed,
       EventKind::kDenied, EventKind::kRefused, EventKind::kReleased});
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < 7000; ++i) {
    const std::string name = std::to_string(i);
    history_.Take(EventOf(kKinds[i % kKinds.size()], i % 3 == 0 ? "a" : "b", name,
                          1000 + static_cast<engine::TimeMs>(i / 100)));
    expected.push_back(name);
  }
  EXPECT_EQ(history_.event_count(), expected.size());
  std::ranges::reverse(expected);
  for (const std::size_t count : {1U, 7U, 1000U}) {
    HistoryQuery query{.count_max = count, .before = 0};
    std::vector<std::string> found;
    do {
      const HistoryPage page = history_.Search(query);
      for (const PastEvent& event : page.events) found.emplace_back(event.owner);
      query.before = page.next_before;
    } while (query.before);
    EXPECT_EQ(found, expected) << count;
  }
}

// Events that can repeat share their slots, whichever ring they are in.
TEST_F(KeptHistoryTest, EachRepetitionIsCountedInOneEvent) {
  constexpr auto kKinds = std::to_array<EventKind>(
      {EventKind::kDenied, EventKind::kRenewed, EventKind::kRefused, EventKind::kReacquired});
  constexpr int kAsks = 12'000;
  for (int i = 0; i < kAsks; ++i) {
    const EventKind kind = kKinds[static_cast<std::size_t>(i / 3000 + i) % kKinds.size()];
    history_.Take(EventOf(kind, "key:" + std::to_string(i % 1500), "owner", 1000 + i, 1));
  }
  const HistoryPage page = history_.Search({.count_max = kAsks, .looks_max = 10 * kAsks});
  EXPECT_LT(page.events.size(), static_cast<std::size_t>(kAsks));
  std::uint32_t counted = 0;
  for (const PastEvent& event : page.events) counted += event.count;
  EXPECT_EQ(counted, static_cast<std::uint32_t>(kAsks));
}

TEST_F(KeptHistoryTest, KeepsWhatBreakCausedWithItsReason) {
  history_.BeginForce("addr=10.0.0.7:1", "stuck");
  history_.Take(EventOf(EventKind::kBroken, "key", "worker", 1000, 5));
  history_.Take(EventOf(EventKind::kCancelled, "key", "waiter", 1000));
  history_.EndForce();
  history_.Take(EventOf(EventKind::kCancelled, "key", "other", 1001));
  Flood(100'000, 2000);
  const HistoryPage page = history_.Search(Of("key"));
  EXPECT_EQ(OwnersOf(page), "waiter worker ");
  for (const PastEvent& event : page.events) EXPECT_EQ(event.comment, "stuck");
}

// Everything that a search by number or by time finds, it finds once and in order, also where the
// copies are only partly in the first ring.
TEST_F(KeptHistoryTest, PagesGoOnFromTheRingIntoTheCopies) {
  std::vector<std::string> expected;
  for (int i = 0; i < 120'000; ++i) {
    const engine::TimeMs at = 1000 + i / 3;
    const std::string name = std::to_string(i);
    if (i % 80 == 0) {
      history_.Take(EventOf(EventKind::kExpired, "key", name, at, 1));
    } else if (i % 40 == 0) {
      history_.Take(Denial("key", name, at));
    } else {
      history_.Take(EventOf(EventKind::kGranted, "busy", "owner", at, 1));
    }
    if (i % 40 == 0) expected.push_back(name);
  }
  ASSERT_GT(history_.known_since().all(), 1000);
  std::ranges::reverse(expected);
  for (const bool is_by_number : {false, true}) {
    HistoryQuery query{.match = "key", .count_max = 50};
    if (is_by_number) query.before = 0;
    std::vector<std::string> found;
    for (int pages = 0; pages < 10'000; ++pages) {
      const HistoryPage page = history_.Search(query);
      for (const PastEvent& event : page.events) found.emplace_back(event.owner);
      if (!page.next_until) break;
      if (is_by_number) {
        query.before = page.next_before;
      } else {
        query.until = *page.next_until;
      }
    }
    EXPECT_EQ(found, expected) << is_by_number;
  }
}

}  // namespace
}  // namespace fairlock::record
