// SHARED, SESSION and MINHOLD.
#include <gtest/gtest.h>

#include "tests/unit/server/engine/engine_test_support.h"

namespace fairlock::engine {
namespace {

class ModesTest : public LockEngineTest {
 protected:
  LockResult AskShared(std::string_view owner, Attachment& from, DurationMs wait_ms = 0) {
    LockRequest request = Request(owner);
    request.is_shared = true;
    request.wait_ms = wait_ms;
    return Ask(request, from);
  }

  LockResult AskSession(std::string_view owner, Attachment& from, DurationMs grace_ms) {
    LockRequest request = Request(owner);
    request.lease_ms.reset();
    request.terms.session_grace_ms = grace_ms;
    return Ask(request, from);
  }
};

TEST_F(ModesTest, ReadersShareAndAWriterBetweenThemKeepsItsTurn) {
  Attachment& r1 = Connect();
  Attachment& r2 = Connect();
  Attachment& w = Connect();
  Attachment& r3 = Connect();
  Attachment& r4 = Connect();
  EXPECT_EQ(AskShared("r1", r1).status, LockStatus::kGranted);
  EXPECT_EQ(AskShared("r2", r2).status, LockStatus::kGranted);
  EXPECT_EQ(Ask("w", w, 5000, kForever).reason, DenialReason::kShared);
  EXPECT_EQ(AskShared("r3", r3, kForever).status, LockStatus::kQueued);
  EXPECT_EQ(AskShared("r4", r4, kForever).status, LockStatus::kQueued);
  EXPECT_TRUE(Unlock("r1"));
  EXPECT_TRUE(Taken().empty());
  EXPECT_TRUE(Unlock("r2"));
  EXPECT_EQ(Taken().size(), 1U);
  EXPECT_TRUE(Unlock("w"));
  EXPECT_EQ(Taken().size(), 2U);  // adjacent SHARED waiters are granted together
}

TEST_F(ModesTest, HolderOfASharedLockCannotAskForMore) {
  Attachment& a = Connect();
  AskShared("a", a);
  EXPECT_EQ(Ask("a", a, 5000).status, LockStatus::kModeDiffers);
  EXPECT_EQ(AskShared("a", a).status, LockStatus::kAlready);
}

TEST_F(ModesTest, SessionEndsWithItsConnection) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  AskSession("a", a, 0);
  AdvanceTo(now_ + 1'000'000);
  EXPECT_EQ(PositionOf("a"), 0U);
  Ask("b", b, 5000, kForever);
  Disconnect(a);
  EXPECT_EQ(Taken().size(), 1U);
  EXPECT_EQ(PositionOf("b"), 0U);
}

TEST_F(ModesTest, SessionIsTakenOverByItsOwnerWithinTheGrace) {
  Attachment& a = Connect();
  Attachment& again = Connect();
  const Token token = AskSession("a", a, 500).token;
  Disconnect(a);
  EXPECT_FALSE(engine_.Renew({{0, "key"}, "a", std::nullopt, std::nullopt}, {now_, effects_}));
  AdvanceTo(now_ + 500);
  const LockResult back = AskSession("a", again, 500);
  EXPECT_EQ(back.status, LockStatus::kAlready);
  EXPECT_EQ(back.token, token);
  AdvanceTo(now_ + 10'000);
  EXPECT_EQ(PositionOf("a"), 0U);
  Disconnect(again);
  AdvanceTo(now_ + 501);
  EXPECT_EQ(PositionOf("a"), std::nullopt);
}

TEST_F(ModesTest, LockWithoutSessionReplacesTheSessionByALease) {
  Attachment& a = Connect();
  AskSession("a", a, 0);
  EXPECT_EQ(Ask("a", a, 700).status, LockStatus::kAlready);
  Disconnect(a);
  EXPECT_EQ(PositionOf("a"), 0U);
  AdvanceTo(now_ + 701);
  EXPECT_EQ(PositionOf("a"), std::nullopt);
}

TEST_F(ModesTest, MinHoldKeepsTheRoomFromAllUntilItIsOver) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  LockRequest request = Request("a");
  request.terms.min_hold_ms = 3000;
  Ask(request, a);
  EXPECT_TRUE(Unlock("a"));
  const LockResult denied = Ask(request, a);
  EXPECT_EQ(denied.status, LockStatus::kDenied);
  EXPECT_EQ(denied.reason, DenialReason::kCooling);
  Ask("b", b, 5000, kForever);
  AdvanceTo(now_ + 3000);
  EXPECT_TRUE(Taken().empty());
  AdvanceTo(now_ + 1);
  EXPECT_EQ(Taken().size(), 1U);
}

TEST_F(ModesTest, BreakSkipsMinHold) {
  Attachment& a = Connect();
  LockRequest request = Request("a");
  request.terms.min_hold_ms = 3000;
  Ask(request, a);
  EXPECT_EQ(engine_.Break({0, "key"}, std::nullopt, {now_, effects_}), 1U);
  EXPECT_EQ(Ask("b", a, 5000).status, LockStatus::kGranted);
}

TEST_F(ModesTest, TransferLeavesTheSessionBehind) {
  Attachment& a = Connect();
  AskSession("a", a, 0);
  EXPECT_EQ(
      engine_.Transfer({{0, "key"}, "a", "b", std::nullopt, std::nullopt}, {now_, effects_}).status,
      TransferStatus::kTransferred);
  Disconnect(a);
  EXPECT_EQ(PositionOf("b"), 0U);
  AdvanceTo(now_ + 30'001);  // the default lease
  EXPECT_EQ(PositionOf("b"), std::nullopt);
}

}  // namespace
}  // namespace fairlock::engine
