#include "server/record/history.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/unit/server/record/history_test_support.h"

namespace fairlock::record {
namespace {

using engine::Event;
using engine::EventKind;

class HistoryTest : public testing::Test {
 protected:
  History history_{History::kBytesMin};
};

TEST_F(HistoryTest, AHoldThatEndsByTimeAfterANoticeNamesWhoGaveIt) {
  Event leaving = EventOf(EventKind::kLeaving, "key", "owner", 5000, 42);
  leaving.grace_ms = 300;
  history_.BeginForce("pager", "deploy");
  history_.Take(leaving);
  history_.EndForce();
  // The notice passes to the owner that the hold is transferred to.
  leaving.token = 43;
  leaving.other_token = 42;
  history_.Take(leaving);
  history_.Take(EventOf(EventKind::kBroken, "key", "owner", 5300, 43));
  history_.Take(EventOf(EventKind::kBroken, "key", "owner", 5300, 44));
  const std::vector<PastEvent> events = history_.Search({}).events;
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].by, "");
  for (const std::size_t i : {1U, 2U, 3U}) {
    EXPECT_EQ(events[i].by, "pager");
    EXPECT_EQ(events[i].comment, "deploy");
  }
  EXPECT_EQ(events[1].grace_ms, 0);
  EXPECT_EQ(events[2].grace_ms, 300);
  EXPECT_EQ(events[2].other_token, 0U);
}

TEST_F(HistoryTest, TellsWhatItWasTold) {
  Event event = EventOf(EventKind::kReleased, "key", "owner", 5000, 42);
  event.held_ms = 1234;
  history_.Take(event);
  const HistoryPage page = history_.Search({});
  ASSERT_EQ(page.events.size(), 1U);
  const PastEvent& found = page.events.front();
  EXPECT_EQ(found.kind, EventKind::kReleased);
  EXPECT_EQ(found.key.bytes, "key");
  EXPECT_EQ(found.owner, "owner");
  EXPECT_EQ(found.token, 42U);
  EXPECT_EQ(found.at, 5000);
  EXPECT_EQ(found.last_at, 5000);
  EXPECT_EQ(found.count, 1U);
  EXPECT_EQ(found.held_ms, 1234);
  EXPECT_EQ(found.waited_ms, 0);
  EXPECT_FALSE(page.next_until);
  EXPECT_EQ(history_.event_count(), 1U);
  EXPECT_EQ(history_.oldest_at(), 5000);
}

TEST_F(HistoryTest, NamesOfAnyLengthAndBytesComeBackWhole) {
  const std::string key(engine::kKeyBytesMax, '\0');
  const std::string owner(engine::kOwnerBytesMax, '\xff');
  const std::string other(engine::kOwnerBytesMax, '\n');
  Event event = EventOf(EventKind::kTransferred, key, owner, 1, engine::kTokenMax);
  event.other = other;
  history_.Take(event);
  const HistoryPage page = history_.Search({});
  ASSERT_EQ(page.events.size(), 1U);
  EXPECT_EQ(page.events.front().key.bytes, key);
  EXPECT_EQ(page.events.front().owner, owner);
  EXPECT_EQ(page.events.front().other, other);
  EXPECT_EQ(page.events.front().token, engine::kTokenMax);
}

TEST_F(HistoryTest, ADenialSaysWhyAndWhoHeldTheLockThen) {
  history_.Take(Denial("key", "poller", 1000, "worker", 99));
  const HistoryPage page = history_.Search({});
  ASSERT_EQ(page.events.size(), 1U);
  EXPECT_EQ(page.events.front().reason, engine::DenialReason::kHeld);
  EXPECT_EQ(page.events.front().other, "worker");
  EXPECT_EQ(page.events.front().other_token, 99U);
  EXPECT_EQ(page.events.front().token, 0U);
}

TEST_F(HistoryTest, RepeatsOfOneOwnerAreOneEventWithACount) {
  for (int i = 0; i < 100; ++i) {
    history_.Take(Denial("key", "poller-1", 1000 + i * 10));
    history_.Take(Denial("key", "poller-2", 1005 + i * 10));
    history_.Take(Denial("other", "poller-1", 1007 + i * 10));
  }
  EXPECT_EQ(history_.event_count(), 3U);
  const HistoryPage page = history_.Search(Of("key"));
  ASSERT_EQ(page.events.size(), 2U);
  EXPECT_EQ(page.events[1].owner, "poller-1");
  EXPECT_EQ(page.events[1].count, 100U);
  EXPECT_EQ(page.events[1].at, 1000);
  EXPECT_EQ(page.events[1].last_at, 1990);
}

TEST_F(HistoryTest, WhatWasRefusedAgainAndAgainIsOneEventWithTheHolderThen) {
  Event refusal = EventOf(EventKind::kRefused, "key", "", 1000);
  refusal.other = "holder";
  refusal.other_token = 7;
  history_.Take(refusal);
  refusal.at = 2000;
  history_.Take(refusal);
  const HistoryPage page = history_.Search(Of("key"));
  ASSERT_EQ(page.events.size(), 1U);
  EXPECT_EQ(page.events[0].kind, EventKind::kRefused);
  EXPECT_EQ(page.events[0].count, 2U);
  EXPECT_EQ(page.events[0].owner, "");
  EXPECT_EQ(page.events[0].other, "holder");
  EXPECT_EQ(page.events[0].other_token, 7U);
}

TEST_F(HistoryTest, ADenialByAnotherHoldOrForAnotherReasonIsAnotherEvent) {
  history_.Take(Denial("key", "poller", 1000, "worker", 1));
  history_.Take(Denial("key", "poller", 1001, "worker", 2));
  Event cooling = Denial("key", "poller", 1002, "worker", 2);
  cooling.reason = engine::DenialReason::kCooling;
  history_.Take(cooling);
  EXPECT_EQ(history_.event_count(), 3U);
}

TEST_F(HistoryTest, RepeatsAreCountedAnewAfterAWhile) {
  history_.Take(EventOf(EventKind::kRenewed, "key", "owner", 1000, 5));
  history_.Take(EventOf(EventKind::kRenewed, "key", "owner", 1000 + History::kRepeatMs, 5));
  EXPECT_EQ(history_.event_count(), 1U);
  history_.Take(EventOf(EventKind::kRenewed, "key", "owner", 1001 + History::kRepeatMs, 5));
  EXPECT_EQ(history_.event_count(), 2U);
}

TEST_F(HistoryTest, GrantsAreNeverCountedTogether) {
  history_.Take(EventOf(EventKind::kGranted, "key", "owner", 1000, 5));
  history_.Take(EventOf(EventKind::kGranted, "key", "owner", 1000, 6));
  EXPECT_EQ(history_.event_count(), 2U);
}

TEST_F(HistoryTest, FindsByKeyOwnerAndTime) {
  history_.Take(EventOf(EventKind::kGranted, "key", "a", 1000));
  history_.Take(EventOf(EventKind::kGranted, "other", "b", 2000));
  history_.Take(EventOf(EventKind::kGranted, "key", "c", 3000));
  history_.Take(EventOf(EventKind::kReleased, "key", "a", 4000));
  EXPECT_EQ(OwnersOf(history_.Search({})), "a c b a ");
  EXPECT_EQ(OwnersOf(history_.Search(Of("key"))), "a c a ");
  EXPECT_EQ(OwnersOf(history_.Search(Of("nothing"))), "");
  HistoryQuery query = Of("key");
  query.owner = "a";
  query.since = 1001;
  EXPECT_EQ(OwnersOf(history_.Search(query)), "a ");
  query = {};
  query.since = 2000;
  query.until = 3000;
  EXPECT_EQ(OwnersOf(history_.Search(query)), "c b ");
}

TEST_F(HistoryTest, AKeyOfAnotherDatabaseIsAnotherKey) {
  Event event = EventOf(EventKind::kGranted, "key", "owner", 1000);
  event.key.db = 3;
  history_.Take(event);
  EXPECT_TRUE(history_.Search(Of("key")).events.empty());
  EXPECT_TRUE(history_.Search({}).events.empty());
  EXPECT_EQ(history_.Search({.db = 3}).events.size(), 1U);
}

TEST_F(HistoryTest, RepeatsThatReachIntoTheTimeAskedForAreFound) {
  history_.Take(Denial("key", "poller", 1000));
  history_.Take(EventOf(EventKind::kGranted, "other", "b", 2000));
  history_.Take(Denial("key", "poller", 200'000));
  EXPECT_EQ(OwnersOf(history_.Search({.since = 150'000})), "poller ");
}

TEST_F(HistoryTest, PagesFollowOneAnotherWithoutGapOrDoubleEvent) {
  for (int i = 0; i < 600; ++i) {
    history_.Take(EventOf(EventKind::kGranted, "key", std::to_string(i), 1000 + i / 7));
  }
  std::set<std::string> seen;
  HistoryQuery query{.count_max = 10};
  while (true) {
    const HistoryPage page = history_.Search(query);
    for (const PastEvent& event : page.events) {
      EXPECT_TRUE(seen.insert(std::string(event.owner)).second);
    }
    EXPECT_LT(page.events.size(), 17U);  // the events of one millisecond stay together
    if (!page.next_until) break;
    query.until = *page.next_until;
  }
  EXPECT_EQ(seen.size(), 600U);
}

TEST_F(HistoryTest, PagesByNumberAreNeverLongerThanAsked) {
  for (int i = 0; i < 600; ++i) {
    history_.Take(EventOf(EventKind::kGranted, i % 3 == 0 ? "other" : "key", std::to_string(i), 9));
  }
  HistoryQuery query = Of("key");
  for (const bool is_of_all : {false, true}) {
    if (is_of_all) query.key.reset();
    query.count_max = 7;
    query.before = 0;
    std::set<std::string> seen;
    while (true) {
      const HistoryPage page = history_.Search(query);
      EXPECT_LE(page.events.size(), 7U);
      for (const PastEvent& event : page.events) {
        EXPECT_TRUE(seen.insert(std::string(event.owner)).second);
      }
      if (!page.next_before) break;
      query.before = page.next_before;
    }
    EXPECT_EQ(seen.size(), is_of_all ? 600U : 400U);
  }
}

TEST_F(HistoryTest, AnyNumberIsAPlaceToGoOnFrom) {
  for (int i = 0; i < 100; ++i) {
    history_.Take(EventOf(EventKind::kGranted, "key", std::to_string(i), 1000));
  }
  std::size_t found = 100;
  const std::uint64_t newest = *history_.Search({.count_max = 1, .before = 0}).next_before + 200;
  for (std::uint64_t before = newest; before > 0 && newest - before < 10'000; --before) {
    const std::size_t now = history_.Search({.before = before}).events.size();
    EXPECT_LE(now, found);
    found = now;
  }
  EXPECT_EQ(found, 0U);
  EXPECT_TRUE(history_.Search({.before = 1}).events.empty());
}

TEST_F(HistoryTest, OnePageTooManyIsNotPromised) {
  for (int i = 0; i < 10; ++i) {
    history_.Take(EventOf(EventKind::kGranted, "key", "owner", 1000 + i));
  }
  EXPECT_FALSE(history_.Search({.count_max = 10}).next_until);
  EXPECT_EQ(history_.Search({.count_max = 9}).next_until, 1000);
}

TEST_F(HistoryTest, TheOldestGiveWayAndTheMemoryIsBounded) {
  for (int i = 0; i < 100'000; ++i) {
    history_.Take(EventOf(EventKind::kGranted, "key:" + std::to_string(i), "owner", 1000 + i));
  }
  EXPECT_LE(history_.used_bytes(), history_.bytes());
  EXPECT_GT(history_.event_count(), 2000U);
  const auto kept = static_cast<engine::TimeMs>(history_.event_count());
  EXPECT_EQ(history_.oldest_at(), 101'000 - kept);
  EXPECT_TRUE(history_.Search(Of("key:5")).events.empty());
  EXPECT_EQ(history_.Search(Of("key:99999")).events.size(), 1U);
}

class LongHistoryTest : public testing::Test {
 protected:
  static constexpr int kEvents = 40'000;

  LongHistoryTest() {
    for (int i = 0; i < kEvents; ++i) {
      const bool is_rare = i % 10'000 == 500;
      history_.Take(EventOf(EventKind::kGranted, is_rare ? "rare" : "busy", "owner", 1000 + i));
    }
  }

  // Searches repeatedly; returns how many events are found, and in how many searches.
  std::pair<std::size_t, int> CountAll(HistoryQuery query) const {
    std::size_t found = 0;
    for (int calls = 1;; ++calls) {
      const HistoryPage page = history_.Search(query);
      found += page.events.size();
      if (!page.next_until) return {found, calls};
      EXPECT_LE(*page.next_until, query.until);
      query.until = *page.next_until;
    }
  }

  History history_{8 * 1024 * 1024};
};

TEST_F(LongHistoryTest, ASearchLooksAtABoundedNumberAndGoesOnWhereItStopped) {
  ASSERT_EQ(history_.event_count(), static_cast<std::size_t>(kEvents));
  HistoryQuery query;
  query.owner = "nobody";
  const HistoryPage page = history_.Search(query);
  EXPECT_TRUE(page.events.empty());
  ASSERT_TRUE(page.next_until);
  EXPECT_EQ(*page.next_until, 1000 + kEvents - 1 - static_cast<int>(History::kLooksMax));
  EXPECT_LE(CountAll(query).second, 5);
}

TEST_F(LongHistoryTest, AMillisecondWithMoreThanOneSearchLooksAtIsLeft) {
  for (int i = 0; i < 2 * static_cast<int>(History::kLooksMax); ++i) {
    history_.Take(EventOf(EventKind::kGranted, "busy", "owner", 100'000));
  }
  const HistoryPage page = history_.Search({.count_max = 10});
  EXPECT_EQ(page.events.size(), History::kLooksMax);
  ASSERT_TRUE(page.next_until);
  EXPECT_EQ(history_.Search({.until = *page.next_until}).events.front().at, 1000 + kEvents - 1);
  EXPECT_EQ(history_.Search({.count_max = 10, .before = 0}).events.size(), 10U);
}

TEST_F(LongHistoryTest, KindsAndGlobsAndDatabasesNarrowASearch) {
  Event event = EventOf(EventKind::kBroken, "order:7", "owner", 100'000);
  event.key.db = 7;
  history_.Take(event);
  history_.Take(EventOf(EventKind::kReleased, "order:1", "owner", 100'001));
  const auto keys = [this](const HistoryQuery& query) {
    std::string found;
    for (const PastEvent& one : history_.Search(query).events) {
      found += std::string(one.key.bytes) + " ";
    }
    return found;
  };
  EXPECT_EQ(keys({.db = std::nullopt, .match = "order:*"}), "order:1 order:7 ");
  EXPECT_EQ(keys({.db = 7, .match = "order:*"}), "order:7 ");
  EXPECT_EQ(keys({.db = 0, .match = "o*", .since = 100'000}), "order:1 ");
  EXPECT_EQ(keys({.db = std::nullopt, .kinds = {EventKind::kBroken, EventKind::kReleased}}),
            "order:1 order:7 ");
  EXPECT_EQ(keys({.db = std::nullopt, .kinds = {EventKind::kBroken}}), "order:7 ");
}

TEST_F(LongHistoryTest, LongGlobsCountAsSeveralLooksAndASearchStillGetsOn) {
  HistoryQuery query{.match = "nothing*", .count_max = 10, .before = 0, .looks_max = 1000};
  const HistoryPage page = history_.Search(query);
  ASSERT_TRUE(page.next_before);
  const std::string long_glob = std::string(1000, '?') + "*";
  query.match = long_glob;
  const HistoryPage shorter = history_.Search(query);
  ASSERT_TRUE(shorter.next_before);
  // Matching 4 bytes of a key against a glob of 1,001 bytes counts as examining 62 more events.
  EXPECT_GT(*shorter.next_before, *page.next_before + (1000 - 1000 / 60) - 1);
  query.looks_max = 100;
  query.before = shorter.next_before;
  const HistoryPage one = history_.Search(query);
  ASSERT_TRUE(one.next_before);
  EXPECT_LT(*one.next_before, *shorter.next_before);
}

TEST_F(LongHistoryTest, TheChainOfAKeyIsFoundAtOnce) {
  EXPECT_EQ(CountAll(Of("rare")), (std::pair<std::size_t, int>(4, 1)));
}

TEST_F(LongHistoryTest, ALongTimeAgoIsFoundWithoutLookingAtAllSince) {
  HistoryQuery query = Of("busy");
  query.until = 1100;
  query.count_max = 5;
  const HistoryPage page = history_.Search(query);
  ASSERT_EQ(page.events.size(), 5U);
  EXPECT_EQ(page.events.front().at, 1100);
  query.key.reset();
  EXPECT_EQ(history_.Search(query).events.front().at, 1100);
}

TEST_F(LongHistoryTest, EveryEventOfABusyKeyIsFoundOnce) {
  HistoryQuery query = Of("busy");
  query.count_max = 1000;
  EXPECT_EQ(CountAll(query).first, static_cast<std::size_t>(kEvents - 4));
}

TEST_F(HistoryTest, WhatIsEndedByForceSaysByWhomAndWhy) {
  history_.BeginForce("addr=10.0.0.7:1 name=ops", "stuck since noon");
  history_.Take(EventOf(EventKind::kBroken, "key", "worker", 1000, 5));
  history_.Take(EventOf(EventKind::kGranted, "key", "next", 1000, 6));
  history_.EndForce();
  history_.Take(EventOf(EventKind::kCancelled, "key", "third", 1001));
  const HistoryPage page = history_.Search({});
  ASSERT_EQ(page.events.size(), 3U);
  EXPECT_EQ(page.events[0].by, "");
  EXPECT_EQ(page.events[1].by, "");
  EXPECT_EQ(page.events[2].by, "addr=10.0.0.7:1 name=ops");
  EXPECT_EQ(page.events[2].comment, "stuck since noon");
  EXPECT_EQ(page.events[2].token, 5U);
}

TEST_F(HistoryTest, ARoomThatBecomesFreeIsAnEventOnlyIfItWasForced) {
  history_.Take(EventOf(EventKind::kVacated, "key", "", 1000));
  EXPECT_EQ(history_.event_count(), 0U);
  history_.BeginForce("addr=10.0.0.7:1", "");
  history_.Take(EventOf(EventKind::kVacated, "key", "", 1001));
  history_.EndForce();
  EXPECT_EQ(history_.event_count(), 1U);
}

}  // namespace
}  // namespace fairlock::record
