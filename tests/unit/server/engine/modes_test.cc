// SHARED, SESSION and MINHOLD.
#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST_F(ModesTest, LockWithoutSessionLeavesTheSession) {
  Attachment& a = Connect();
  Attachment& other = Connect();
  AskSession("a", a, 500);
  EXPECT_EQ(Ask("a", other, 700).status, LockStatus::kAlready);
  AdvanceTo(now_ + 701);
  EXPECT_EQ(PositionOf("a"), 0U);
  Disconnect(other);
  AdvanceTo(now_ + 501);
  EXPECT_EQ(PositionOf("a"), 0U);
  Disconnect(a);
  Attachment& again = Connect();
  EXPECT_EQ(Ask("a", again, 700).status, LockStatus::kAlready);  // within the grace
  AdvanceTo(now_ + 701);
  EXPECT_EQ(PositionOf("a"), 0U);
  Disconnect(again);
  AdvanceTo(now_ + 501);
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
  EXPECT_EQ(engine_.Break({0, "key"}, std::nullopt, {now_, effects_}).holds, 1U);
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

// Thousands of readers whose turn comes at once are admitted in steps, in their order.
class CrowdTest : public ModesTest {
 protected:
  static constexpr int kReaders = 100;

  void SetUp() override {
    engine_.options().grants_of_a_turn = 10;
    engine_.Advance(kAllSteps, {now_, effects_});
    Ask("writer", Connect(), 5000);
    for (int i = 0; i < kReaders; ++i) AskShared("r" + std::to_string(i), Connect(), kForever);
    last_ = &Connect();
    Ask("last", *last_, 5000, kForever);
    Unlock("writer");
  }

  std::uint64_t CountHolders() { return engine_.counts().holds; }

  Attachment* last_ = nullptr;
};

TEST_F(CrowdTest, FollowsInTheNextCallsOfAdvance) {
  EXPECT_EQ(CountHolders(), 11U);  // one for each queue at once, and then ten in each turn
  Token newest = 0;
  for (int turn = 2; CountHolders() < kReaders; ++turn) {
    ASSERT_LT(turn, 20);
    ASSERT_LE(engine_.NextDeadline(), now_);
    const bool are_more_due = engine_.Advance(kAllSteps, {now_, effects_});
    engine_.CheckInvariants();
    EXPECT_EQ(are_more_due, CountHolders() < kReaders);
    EXPECT_LE(CountHolders(), static_cast<std::uint64_t>(11 * turn));
  }
  for (const Resolution& resolution : Taken()) {
    EXPECT_GT(resolution.token, newest);  // they are granted in the order of arrival
    newest = resolution.token;
  }
  EXPECT_EQ(PositionOf("last"), 1U);
}

TEST_F(CrowdTest, NobodyPassesThoseWhoFollow) {
  EXPECT_EQ(AskShared("late", Connect()).status, LockStatus::kDenied);
  while (engine_.Advance(kAllSteps, {now_, effects_})) engine_.CheckInvariants();
  EXPECT_EQ(CountHolders(), static_cast<std::uint64_t>(kReaders));
  for (int i = 0; i < kReaders; ++i) Unlock("r" + std::to_string(i));
  EXPECT_EQ(PositionOf("last"), 0U);
}

TEST_F(CrowdTest, AHandOverToOneIsNeverPutOff) {
  while (engine_.Advance(kAllSteps, {now_, effects_})) engine_.CheckInvariants();
  engine_.options().grants_of_a_turn = 0;
  EXPECT_FALSE(engine_.Advance(kAllSteps, {now_, effects_}));
  for (const char* key : {"a", "b", "c"}) {
    LockRequest request = Request("first");
    request.key = {0, key};
    Ask(request, Connect());
    request.owner = "second";
    request.wait_ms = kForever;
    Ask(request, Connect());
    EXPECT_TRUE(engine_.Unlock({{0, key}, "first", std::nullopt}, {now_, effects_}));
    EXPECT_TRUE(engine_.inspection().IsHeldBy({0, key}, "second", {now_, effects_}));
  }
}

TEST_F(CrowdTest, EachHoldIsFoundByItsToken) {
  while (engine_.Advance(kAllSteps, {now_, effects_})) engine_.CheckInvariants();
  std::vector<Token> tokens;
  for (const Resolution& resolution : Taken()) tokens.push_back(resolution.token);
  ASSERT_EQ(tokens.size(), static_cast<std::size_t>(kReaders));
  engine_.Cancel({0, "key"}, "last", {now_, effects_});
  // Every other one ends first, and while the list shrinks, new ones join it.
  for (const std::size_t begin : {std::size_t{0}, std::size_t{1}}) {
    for (std::size_t i = begin; i < tokens.size(); i += 2) {
      EXPECT_TRUE(engine_.inspection().Check({0, "key"}, tokens[i], {now_, effects_}));
      Unlock("r" + std::to_string(i));
      EXPECT_FALSE(engine_.inspection().Check({0, "key"}, tokens[i], {now_, effects_}));
      if (CountHolders() % 2 == 0) continue;
      const LockResult guest = AskShared("guest", Connect(), 0);
      ASSERT_EQ(guest.status, LockStatus::kGranted);
      EXPECT_TRUE(engine_.inspection().Check({0, "key"}, guest.token, {now_, effects_}));
      Unlock("guest");
    }
  }
}

}  // namespace
}  // namespace fairlock::engine
