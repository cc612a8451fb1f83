// Tests BREAK with GRACE where a client cannot see the rule.
#include "tests/unit/server/engine/engine_test_support.h"

namespace fairlock::engine {
namespace {

class Departures : public LockEngineTest {
 protected:
  std::uint64_t GiveNotice(DurationMs grace_ms) {
    const std::uint64_t leaving =
        engine_.Break({0, "key"}, std::nullopt, {now_, effects_}, grace_ms).holds;
    engine_.CheckInvariants();
    return leaving;
  }
  HolderInfo Holder() {
    return engine_.inspection().Inspect({0, "key"}, 1, {now_, effects_}).holders.front();
  }
  std::optional<rows::Hold> RowOf(Token token) {
    return engine_.snapshots().FindHoldRow({engine_.Prefetch({0, "key"}), token});
  }
};

TEST_F(Departures, TheHoldLastsThroughTheTickInWhichItsGraceEnds) {
  Ask("a", Connect(), 60'000);
  EXPECT_EQ(GiveNotice(10), 1U);
  AdvanceTo(now_ + 10);
  EXPECT_TRUE(engine_.inspection().IsHeldBy({0, "key"}, "a", {now_, effects_}));
  AdvanceTo(now_ + 1);
  EXPECT_FALSE(engine_.inspection().IsHeldBy({0, "key"}, "a", {now_, effects_}));
  EXPECT_EQ(engine_.counts().broken, 1U);
  EXPECT_EQ(engine_.counts().expired, 0U);
}

TEST_F(Departures, ThePlainHoldKeepsItsNoticeWhenOthersJoinIt) {
  Ask("a", Connect(), 60'000);
  GiveNotice(5000);
  Ask("b", Connect(), 5000, kForever);
  EXPECT_TRUE(Holder().is_leaving);
  EXPECT_EQ(Holder().ttl_ms, 5000);
}

TEST_F(Departures, ItsRowContainsTheNoticeAndItsLength) {
  const Token token = Ask("a", Connect(), 60'000).token;
  EXPECT_FALSE(RowOf(token)->is_leaving);
  GiveNotice(5000);
  EXPECT_TRUE(RowOf(token)->is_leaving);
  EXPECT_EQ(RowOf(token)->claim.lease_ms, 5000);
}

TEST_F(Departures, AGrantThatWasNotReadDoesNotReturnToTheQueue) {
  Attachment& a = Connect();
  Ask("a", a, 60'000);
  LockRequest request = Request("b");
  request.wait_ms = kForever;
  request.keep_ms = 5000;
  Ask(request, Connect());
  Unlock("a");
  const std::vector<Resolution> granted = Taken();
  ASSERT_EQ(granted.size(), 1U);
  GiveNotice(5000);
  EXPECT_TRUE(engine_.sessions().UndoGrant(granted.front().key_hash, granted.front().token,
                                           {now_, effects_}));
  EXPECT_EQ(PositionOf("b"), std::nullopt);
}

TEST_F(Departures, AReplyThatLeavesLateDoesNotPostponeTheEnd) {
  const Token token = Ask("a", Connect(), 60'000).token;
  GiveNotice(5000);
  engine_.ExtendUnsentLease({engine_.Prefetch({0, "key"}), token}, 1000);
  EXPECT_EQ(Holder().ttl_ms, 5000);
}

}  // namespace
}  // namespace fairlock::engine
