// Places that outlast their requests: KEEP, reservations, connections that close, grants that are
// undone.
#include <gtest/gtest.h>

#include "tests/unit/server/engine/engine_test_support.h"

namespace fairlock::engine {
namespace {

class PlacesTest : public LockEngineTest {
 protected:
  LockResult AskKeeping(std::string_view owner, Attachment& from, DurationMs keep_ms,
                        DurationMs wait_ms = 0) {
    LockRequest request = Request(owner);
    request.keep_ms = keep_ms;
    request.wait_ms = wait_ms;
    return Ask(request, from);
  }
};

TEST_F(PlacesTest, RetryingOwnerKeepsItsTurnBetweenItsAttempts) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  Attachment& c = Connect();
  Ask("a", a, 5000);
  EXPECT_EQ(AskKeeping("b", b, 1000).status, LockStatus::kKept);
  EXPECT_TRUE(Unlock("a"));
  // The slot is reserved: no other owner gets it, whatever options that owner requests.
  const LockResult rival = Ask("c", c, 5000);
  EXPECT_EQ(rival.status, LockStatus::kDenied);
  EXPECT_EQ(rival.reason, DenialReason::kReserved);
  EXPECT_EQ(AskKeeping("b", b, 1000).status, LockStatus::kGranted);
}

TEST_F(PlacesTest, LapsedReservationGoesToTheNextInLine) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  Attachment& c = Connect();
  Ask("a", a, 5000);
  AskKeeping("b", b, 1000);
  Ask("c", c, 5000, kForever);
  EXPECT_TRUE(Unlock("a"));
  AdvanceTo(now_ + 1000);
  EXPECT_TRUE(Taken().empty());
  AdvanceTo(now_ + 1);
  const auto resolutions = Taken();
  ASSERT_EQ(resolutions.size(), 1U);
  EXPECT_EQ(resolutions[0].to, &c);
  EXPECT_EQ(PositionOf("b"), std::nullopt);
}

TEST_F(PlacesTest, PlacesBehindAReservationGetTheRoomsThatRemain) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  Attachment& c = Connect();
  Attachment& d = Connect();
  Ask("a", a, 5000, 0, 2);
  Ask("x", d, 5000, 0, 2);
  LockRequest request = Request("b");
  request.limit = 2;
  request.keep_ms = 1000;
  EXPECT_EQ(Ask(request, b).status, LockStatus::kKept);
  Ask("c", c, 5000, kForever, 2);
  EXPECT_TRUE(Unlock("a"));
  EXPECT_TRUE(Taken().empty());  // that slot is reserved for b
  EXPECT_TRUE(Unlock("x"));
  const auto resolutions = Taken();
  ASSERT_EQ(resolutions.size(), 1U);
  EXPECT_EQ(resolutions[0].to, &c);
  EXPECT_EQ(engine_.inspection().Inspect({0, "key"}, 10, {now_, effects_}).reserved_count, 1U);
}

TEST_F(PlacesTest, TimedOutRequestWithKeepLeavesItsPlaceInLine) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  Ask("a", a, 50'000);
  AskKeeping("b", b, 3000, 100);
  AdvanceTo(now_ + 101);
  ASSERT_EQ(Taken().size(), 1U);
  EXPECT_EQ(PositionOf("b"), 1U);
  AdvanceTo(now_ + 3001);
  EXPECT_EQ(PositionOf("b"), std::nullopt);
}

TEST_F(PlacesTest, WaiterWhoseConnectionClosesIsPassedOverAndFindsItsNumberAgain) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  Attachment& c = Connect();
  Attachment& again = Connect();
  engine_.options().reconnect_grace_ms = 2000;
  Ask("a", a, 50'000);
  Ask("b", b, 5000, kForever);
  Ask("c", c, 5000, kForever);
  Disconnect(b);
  EXPECT_EQ(PositionOf("c"), 1U);
  AdvanceTo(now_ + 2000);
  EXPECT_EQ(Ask("b", again, 5000, kForever).status, LockStatus::kQueued);
  EXPECT_EQ(PositionOf("b"), 1U);
  EXPECT_EQ(PositionOf("c"), 2U);
  EXPECT_TRUE(Unlock("a"));
  const auto resolutions = Taken();
  ASSERT_EQ(resolutions.size(), 1U);
  EXPECT_EQ(resolutions[0].to, &again);
}

TEST_F(PlacesTest, UndoneGrantIsPassedOnAndItsPlaceReturns) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  Attachment& c = Connect();
  Attachment& again = Connect();
  engine_.options().reconnect_grace_ms = 2000;
  Ask("a", a, 50'000);
  LockRequest request = Request("b");
  request.wait_ms = kForever;
  request.terms.min_hold_ms = 10'000;
  Ask(request, b);
  Ask("c", c, 5000, kForever);
  EXPECT_TRUE(Unlock("a"));
  const auto grant = Taken();
  ASSERT_EQ(grant.size(), 1U);
  EXPECT_TRUE(engine_.sessions().UndoGrant(grant[0].key_hash, grant[0].token, {now_, effects_}));
  engine_.CheckInvariants();
  const auto passed_on = Taken();
  ASSERT_EQ(passed_on.size(), 1U);
  EXPECT_EQ(passed_on[0].to, &c);
  EXPECT_GT(passed_on[0].token, grant[0].token);
  EXPECT_EQ(Ask("b", again, 5000, kForever).status, LockStatus::kQueued);
  EXPECT_EQ(PositionOf("b"), 1U);
}

TEST_F(PlacesTest, RenewedGrantIsNotUndone) {
  Attachment& a = Connect();
  const LockResult grant = Ask("a", a, 5000);
  EXPECT_TRUE(engine_.Renew({{0, "key"}, "a", 1000, std::nullopt}, {now_, effects_}));
  EXPECT_FALSE(engine_.sessions().UndoGrant(grant.key_hash, grant.token, {now_, effects_}));
  EXPECT_EQ(PositionOf("a"), 0U);
}

TEST_F(PlacesTest, FullLineRefusesOrReplacesTheNewest) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  Attachment& c = Connect();
  Ask("a", a, 5000);
  LockRequest request = Request("b");
  request.wait_ms = kForever;
  request.waiters_max = 1;
  EXPECT_EQ(Ask(request, b).status, LockStatus::kQueued);
  request.owner = "c";
  const LockResult refused = Ask(request, c);
  EXPECT_EQ(refused.status, LockStatus::kDenied);
  EXPECT_EQ(refused.reason, DenialReason::kFull);
  request.replaces_newest = true;
  EXPECT_EQ(Ask(request, c).status, LockStatus::kQueued);
  const auto resolutions = Taken();
  ASSERT_EQ(resolutions.size(), 1U);
  EXPECT_EQ(resolutions[0].to, &b);
  EXPECT_EQ(resolutions[0].kind, ResolutionKind::kReplaced);
}

}  // namespace
}  // namespace fairlock::engine
