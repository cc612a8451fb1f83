#include <gtest/gtest.h>

#include <string>

#include "tests/unit/engine_test_support.h"

namespace fairlock::engine {
namespace {

TEST_F(LockEngineTest, GrantsToOldestWaiterWhenHolderReleases) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  Attachment& c = Connect();
  EXPECT_EQ(Ask("a", a, 5000).token, 100U);
  EXPECT_EQ(Ask("b", b, 5000, kForever).status, LockStatus::kQueued);
  EXPECT_EQ(Ask("c", c, 5000, kForever).status, LockStatus::kQueued);
  EXPECT_TRUE(Unlock("a"));
  const auto resolutions = Taken();
  ASSERT_EQ(resolutions.size(), 1U);
  EXPECT_EQ(resolutions[0].to, &b);
  EXPECT_EQ(resolutions[0].token, 101U);
  EXPECT_EQ(engine_.Position({0, "key"}, "c", now_, effects_), 1U);
}

TEST_F(LockEngineTest, NewcomerDoesNotPassAWaiterAlthoughThereIsRoom) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  Attachment& c = Connect();
  Ask("a", a, 5000, 0, 3);
  EXPECT_EQ(Ask("b", b, 5000, kForever, 1).status, LockStatus::kQueued);
  const LockResult newcomer = Ask("c", c, 5000, 0, 3);
  EXPECT_EQ(newcomer.status, LockStatus::kDenied);
  EXPECT_EQ(newcomer.reason, DenialReason::kLine);
}

TEST_F(LockEngineTest, LeaseLastsThroughItsLastMillisecond) {
  Attachment& a = Connect();
  Ask("a", a, 500);
  AdvanceTo(1500);
  EXPECT_TRUE(engine_.IsHeldBy({0, "key"}, "a", now_, effects_));
  AdvanceTo(1501);
  EXPECT_FALSE(engine_.IsHeldBy({0, "key"}, "a", now_, effects_));
  EXPECT_EQ(engine_.counts().locks, 0U);
}

TEST_F(LockEngineTest, CommandSettlesItsKeyWithoutAdvance) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  Attachment& c = Connect();
  Ask("a", a, 500);
  Ask("b", b, 300, 600);
  now_ = 1700;  // a's lease ended at 1500, b's limit would have come at 1600
  EXPECT_EQ(Ask("c", c, 500).status, LockStatus::kDenied);
  const auto resolutions = Taken();
  ASSERT_EQ(resolutions.size(), 1U);
  EXPECT_EQ(resolutions[0].kind, ResolutionKind::kGranted);
}

TEST_F(LockEngineTest, ClosedWaiterLeavesTheLineAndTheNextIsServed) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  Attachment& c = Connect();
  Ask("a", a, 5000);
  Ask("b", b, 5000, kForever);
  Ask("c", c, 5000, kForever);
  engine_.Detach(b, now_, effects_);
  EXPECT_TRUE(Unlock("a"));
  const auto resolutions = Taken();
  ASSERT_EQ(resolutions.size(), 1U);
  EXPECT_EQ(resolutions[0].to, &c);
}

TEST_F(LockEngineTest, WatcherIsAnsweredWhenTheHoldsOfItsTimeAreGone) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  Attachment& w = Connect();
  Ask("a", a, 5000);
  EXPECT_EQ(engine_.Wait({{0, "key"}, kForever}, w, now_, effects_), WaitStatus::kWaiting);
  Ask("b", b, 5000, kForever);
  EXPECT_TRUE(Unlock("a"));
  const auto resolutions = Taken();
  ASSERT_EQ(resolutions.size(), 2U);
  EXPECT_EQ(resolutions[0].kind, ResolutionKind::kGranted);
  EXPECT_EQ(resolutions[1].kind, ResolutionKind::kWatchEnded);
}

TEST_F(LockEngineTest, TransferAnswersTheNewOwnersWaitingRequest) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  Ask("a", a, 5000);
  Ask("b", b, 700, kForever);
  const TransferResult result =
      engine_.Transfer({{0, "key"}, "a", "b", std::nullopt, std::nullopt}, now_, effects_);
  EXPECT_EQ(result.status, TransferStatus::kTransferred);
  const auto resolutions = Taken();
  ASSERT_EQ(resolutions.size(), 1U);
  EXPECT_EQ(resolutions[0].token, result.token);
  AdvanceTo(6000);
  EXPECT_TRUE(engine_.IsHeldBy({0, "key"}, "b", now_, effects_));
  AdvanceTo(6001);
  EXPECT_FALSE(engine_.IsHeldBy({0, "key"}, "b", now_, effects_));
}

TEST_F(LockEngineTest, LabelsAndClientsAreForgottenWithTheirHolds) {
  Attachment& a = Connect();
  LockRequest request;
  request.key = {3, "key"};
  request.owner = "a";
  request.label = "payments";
  request.meta = "{\"job\":1}";
  engine_.Lock(request, a, now_, effects_);
  EXPECT_EQ(engine_.CountLocks(3), 1U);
  const LockInfo info = engine_.Inspect({3, "key"}, 10, now_, effects_);
  ASSERT_EQ(info.holders.size(), 1U);
  EXPECT_EQ(info.holders[0].label, "payments");
  EXPECT_EQ(info.holders[0].meta, "{\"job\":1}");
  EXPECT_EQ(info.holders[0].client->address, "test");
  engine_.clients().Disconnect(a.client);
  EXPECT_EQ(engine_.clients().size(), 1U);
  EXPECT_TRUE(engine_.Unlock({{3, "key"}, "a", std::nullopt}, now_, effects_));
  EXPECT_EQ(engine_.clients().size(), 0U);
}

}  // namespace
}  // namespace fairlock::engine
