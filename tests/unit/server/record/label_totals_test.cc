#include "server/record/label_totals.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlock::record {
namespace {

using engine::Event;
using engine::EventKind;

Event EventOf(EventKind kind, std::string_view label, engine::TimeMs at = 0) {
  Event event;
  event.kind = kind;
  event.key = {0, "key"};
  event.label = label;
  event.at = at;
  return event;
}

std::uint64_t CountOf(const LabelTotals& totals, std::string_view label, Counter counter) {
  return totals.all()[totals.IndexOf(label)]->counts[static_cast<std::size_t>(counter)];
}

std::size_t BytesOf(const LabelTotals& totals) {
  std::size_t bytes = 0;
  for (const auto& total : totals.all()) bytes += LabelTotals::kBytesBeside + total->label.size();
  return bytes;
}

TEST(LabelTotals, CountsUnderTheLabelAndUnderNone) {
  LabelTotals totals;
  totals.Take(EventOf(EventKind::kGranted, ""));
  totals.Take(EventOf(EventKind::kGranted, "shop"));
  totals.Take(EventOf(EventKind::kExpired, "shop"));
  totals.Take(EventOf(EventKind::kRenewed, "shop"));
  EXPECT_EQ(CountOf(totals, "", Counter::kAcquired), 1);
  EXPECT_EQ(CountOf(totals, "shop", Counter::kAcquired), 1);
  EXPECT_EQ(CountOf(totals, "shop", Counter::kExpired), 1);
}

TEST(LabelTotals, CountNoDurationThatIsNotKnown) {
  LabelTotals totals;
  totals.TakeWithoutAge(EventOf(EventKind::kBroken, ""));
  totals.TakeWithoutAge(EventOf(EventKind::kBroken, "shop"));
  totals.Take(EventOf(EventKind::kBroken, "shop"));
  EXPECT_EQ(CountOf(totals, "", Counter::kBroken), 1);
  EXPECT_EQ(CountOf(totals, "shop", Counter::kBroken), 2);
  EXPECT_EQ(totals.all()[totals.IndexOf("")]->holds.counts()[0], 0);
  EXPECT_EQ(totals.all()[totals.IndexOf("shop")]->holds.counts()[0], 1);
}

TEST(LabelTotals, NotesWaitsAndHoldsBelowTheirBounds) {
  LabelTotals totals;
  Event grant = EventOf(EventKind::kGranted, "shop");
  grant.has_waited = true;
  grant.waited_ms = 10;
  totals.Take(grant);
  grant.waited_ms = 11;
  totals.Take(grant);
  Event end = EventOf(EventKind::kReleased, "shop");
  end.held_ms = 3'600'000;
  totals.Take(end);
  const LabelTotal& total = *totals.all()[totals.IndexOf("shop")];
  EXPECT_EQ(total.waits.counts()[0], 1);
  EXPECT_EQ(total.waits.counts()[1], 1);
  EXPECT_EQ(total.waits.sum(), 21);
  EXPECT_EQ(total.holds.counts().back(), 1);
  EXPECT_EQ(CountOf(totals, "shop", Counter::kGrantedAfterWait), 2);
}

TEST(LabelTotals, CountsTogetherThoseForWhichThereIsNoRoom) {
  for (const std::size_t length : {4, 64}) {
    LabelTotals totals;
    for (int i = 0; i < 2000; ++i) {
      std::string label = std::to_string(i);
      label.insert(0, length - label.size(), 'x');
      totals.Take(EventOf(EventKind::kGranted, label));
    }
    EXPECT_LE(BytesOf(totals), LabelTotals::kBytesMax);
    EXPECT_GT(totals.all().size(), 8);
    EXPECT_EQ(CountOf(totals, LabelTotals::kOther, Counter::kAcquired),
              2000 - (totals.all().size() - 2));
  }
}

TEST(LabelTotals, GivesTheRoomOfALabelThatWasIdleForADay) {
  LabelTotals totals;
  for (int i = 0; i < 100; ++i) {
    totals.Take(EventOf(EventKind::kGranted, "label" + std::to_string(i)));
  }
  const std::size_t count = totals.all().size();
  totals.Take(EventOf(EventKind::kGranted, "label0", LabelTotals::kIdleMs));
  totals.Take(EventOf(EventKind::kGranted, "newer", LabelTotals::kIdleMs - 1));
  EXPECT_EQ(totals.IndexOf("newer"), 1);
  totals.Take(EventOf(EventKind::kGranted, "newest", 2 * LabelTotals::kIdleMs - 1));
  EXPECT_EQ(totals.all().size(), count);
  EXPECT_NE(totals.IndexOf("newest"), 1);
  EXPECT_NE(totals.IndexOf("label0"), 1);
  EXPECT_EQ(CountOf(totals, "newest", Counter::kAcquired), 1);
  for (std::size_t i = 0; i < totals.all().size(); ++i) {
    EXPECT_EQ(totals.IndexOf(totals.all()[i]->label), i);
  }
}

}  // namespace
}  // namespace fairlock::record
