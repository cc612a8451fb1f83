// An operator's overrides of LIMIT.
#include "server/engine/state/limit_overrides.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/engine/engine_test_support.h"

namespace fairlock::engine {
namespace {

LimitOverride Row(std::string_view pattern, std::uint32_t limit, TimeMs end = kNever) {
  LimitOverride row;
  row.pattern = pattern;
  row.limit = limit;
  row.end = end;
  return row;
}

TEST(LimitOverrides, TheMostSpecificIsInForce) {
  LimitOverrides limits;
  EXPECT_FALSE(limits.Find({0, "a:b"}).has_value());
  limits.Set(Row("*", 1));
  limits.Set(Row("a:*", 2));
  limits.Set(Row("a:b", 3));
  EXPECT_EQ(limits.Find({0, "a:b"}), 3U);
  EXPECT_EQ(limits.Find({0, "a:c"}), 2U);
  EXPECT_EQ(limits.Find({0, "x"}), 1U);
  EXPECT_FALSE(limits.Find({1, "x"}).has_value());
}

TEST(LimitOverrides, OfAlikeOnesTheNewestIsInForceUntilItEnds) {
  LimitOverrides limits;
  limits.Set(Row("a*", 1));
  limits.Set(Row("*b", 2, 500));
  EXPECT_EQ(limits.Find({0, "ab"}), 2U);
  EXPECT_EQ(limits.next_end(), 500);
  limits.Set(Row("a*", 3, 700));
  EXPECT_EQ(limits.Find({0, "ab"}), 3U);
  EXPECT_EQ(limits.size(), 2U);
  limits.DropEnded(499);
  EXPECT_EQ(limits.size(), 2U);
  limits.DropEnded(500);
  EXPECT_EQ(limits.size(), 1U);
  EXPECT_TRUE(limits.Drop(0, "a*"));
  EXPECT_FALSE(limits.Drop(0, "a*"));
  EXPECT_EQ(limits.next_end(), kNever);
}

using OverrideTest = LockEngineTest;

TEST_F(OverrideTest, LinesAreLookedAtInSlices) {
  constexpr std::size_t kKeys = 1000;
  constexpr std::size_t kSlice = 64;
  Attachment& holder = Connect();
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kKeys; ++i) {
    keys.push_back("key:" + std::to_string(i));
    LockRequest request = Request("holder");
    request.key.bytes = keys.back();
    request.limit = 1;
    request.lease_ms = kLeaseMsMax;
    engine_.Lock(request, holder, {now_, effects_});
    request.owner = "waiter";
    request.wait_ms = kForever;
    engine_.Lock(request, Connect(), {now_, effects_});
  }
  ASSERT_TRUE(engine_.limits().Set(Row("*", 2), now_));
  EXPECT_TRUE(Taken().empty());
  EXPECT_LE(engine_.NextDeadline(), now_);
  std::size_t granted = 0;
  for (bool is_more_due = true; is_more_due;) {
    is_more_due = engine_.Advance(kSlice, {now_, effects_});
    const std::size_t in_this_slice = Taken().size();
    EXPECT_LE(in_this_slice, kSlice);
    granted += in_this_slice;
  }
  EXPECT_EQ(granted, kKeys);
  EXPECT_GT(engine_.NextDeadline(), now_);
}

TEST_F(OverrideTest, ARequestSettlesItsKeyBeforeTheSliceComesToIt) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  Attachment& c = Connect();
  Ask("a", a, 5000, 0, 1);
  Ask("b", b, 5000, kForever, 1);
  ASSERT_TRUE(engine_.limits().Set(Row("key", 2), now_));
  EXPECT_EQ(Ask("c", c, 5000, 0, 1).reason, DenialReason::kHeld);
  const std::vector<Resolution> taken = Taken();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].to, &b);
}

TEST_F(OverrideTest, AnOverrideThatIsOverIsPastForTheNextRequest) {
  Attachment& a = Connect();
  ASSERT_TRUE(engine_.limits().Set(Row("*", 0, now_ + 100), now_));
  EXPECT_EQ(Ask("a", a, 5000).reason, DenialReason::kDrained);
  now_ += 100;
  EXPECT_EQ(Ask("a", a, 5000).reason, DenialReason::kDrained);
  EXPECT_EQ(engine_.NextDeadline(), now_ + 1);
  ++now_;
  EXPECT_EQ(Ask("a", a, 5000).status, LockStatus::kGranted);
}

TEST_F(OverrideTest, ADrainedKeyWithoutHolderCanBeWaitedForAndLeavesNothing) {
  Attachment& a = Connect();
  ASSERT_TRUE(engine_.limits().Set(Row("*", 0), now_));
  EXPECT_EQ(Ask("a", a, 5000).status, LockStatus::kDenied);
  EXPECT_EQ(engine_.counts().locks, 0U);
  EXPECT_EQ(Ask("a", a, 5000, 300).status, LockStatus::kQueued);
  EXPECT_EQ(engine_.counts().locks, 1U);
  AdvanceTo(now_ + 301);
  ASSERT_EQ(Taken().size(), 1U);
  EXPECT_EQ(engine_.counts().locks, 0U);
}

TEST(Override, ADrainedKeyWhoseOnlyPlaceIsReplacedInVainIsGone) {
  LockEngine engine(EngineOptions{.places_max = 1});
  Effects effects;
  Attachment a;
  Attachment b;
  LockRequest request;
  request.key = {0, "key"};
  request.owner = "holder";
  request.wait_ms = kForever;
  engine.Lock(request, a, {0, effects});
  request.owner = "waiter";
  engine.Lock(request, a, {0, effects});
  engine.Unlock({{0, "key"}, "holder", std::nullopt}, {0, effects});
  const Resolution granted = effects.resolutions.at(0);
  ASSERT_TRUE(engine.limits().Set(Row("*", 0), 0));
  request.key.bytes = "other";
  request.owner = "another";
  EXPECT_EQ(engine.Lock(request, b, {0, effects}).status, LockStatus::kQueued);
  // The returning place makes the queue longer by one than is allowed for places that join.
  EXPECT_TRUE(engine.sessions().UndoGrant(granted.key_hash, granted.token, {0, effects}));
  request.key.bytes = "key";
  request.owner = "waiter";
  EXPECT_EQ(engine.Lock(request, a, {0, effects}).status, LockStatus::kQueued);
  request.owner = "new";
  request.waiters_max = 0;
  request.replaces_newest = true;
  EXPECT_EQ(engine.Lock(request, a, {0, effects}).status, LockStatus::kTooManyPlaces);
  EXPECT_EQ(engine.counts().locks, 1U);
  engine.CheckInvariants();
  engine.sessions().Detach(a, {0, effects});
  engine.sessions().Detach(b, {0, effects});
}

TEST_F(OverrideTest, CoolingRoomsAndReservationsCountWithTheOverride) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  LockRequest request = Request("a");
  request.limit = 1;
  request.terms.min_hold_ms = 1000;
  Ask(request, a);
  EXPECT_TRUE(Unlock("a"));
  EXPECT_EQ(Ask("b", b, 5000, 0, 1).reason, DenialReason::kCooling);
  ASSERT_TRUE(engine_.limits().Set(Row("key", 2), now_));
  EXPECT_EQ(Ask("b", b, 5000, 0, 1).status, LockStatus::kGranted);
  EXPECT_EQ(Ask("c", b, 5000, 0, 1).reason, DenialReason::kCooling);
}

TEST_F(OverrideTest, TheirNumberIsBounded) {
  engine_.options().limit_overrides_max = 1;
  EXPECT_TRUE(engine_.limits().Set(Row("a", 2), now_));
  EXPECT_FALSE(engine_.limits().Set(Row("b", 2), now_));
  EXPECT_TRUE(engine_.limits().Set(Row("a", 3), now_));
}

TEST_F(OverrideTest, AfterALossyStartNobodyNewIsLetInForAWhile) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  engine_.restoration().Restore(
      rows::Hold{.id = {.token = 7, .key = "key"}, .claim = {.owner = "a", .lease_ms = 5'000}}, 0,
      now_);
  engine_.restoration().EndRestore(100, {now_, effects_});
  engine_.limits().DelayGrantsUntil(now_ + 1'000);
  EXPECT_EQ(Ask("a", a, 5'000).status, LockStatus::kAlready);
  EXPECT_TRUE(Unlock("a"));
  EXPECT_EQ(Ask("b", b, 5'000).reason, DenialReason::kStarting);
  EXPECT_EQ(Ask("b", b, 5'000, kForever).status, LockStatus::kQueued);
  AdvanceTo(now_ + 1'000);
  EXPECT_TRUE(Taken().empty());
  AdvanceTo(now_ + 1);
  const auto resolutions = Taken();
  ASSERT_EQ(resolutions.size(), 1U);
  EXPECT_EQ(resolutions[0].kind, ResolutionKind::kGranted);
  EXPECT_TRUE(Unlock("b"));
  EXPECT_EQ(Ask("a", a, 5'000).status, LockStatus::kGranted);
}

}  // namespace
}  // namespace fairlock::engine
