#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "tests/unit/server/engine/engine_test_support.h"

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
  EXPECT_EQ(engine_.inspection().Position({0, "key"}, "c", {now_, effects_}), 1U);
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
  EXPECT_TRUE(engine_.inspection().IsHeldBy({0, "key"}, "a", {now_, effects_}));
  AdvanceTo(1501);
  EXPECT_FALSE(engine_.inspection().IsHeldBy({0, "key"}, "a", {now_, effects_}));
  EXPECT_EQ(engine_.counts().locks, 0U);
}

TEST_F(LockEngineTest, CommandSettlesItsKeyWithoutAdvance) {
  Attachment& a = Connect();
  Attachment& b = Connect();
  Attachment& c = Connect();
  Ask("a", a, 500);
  Ask("b", b, 300, 600);
  now_ = 1700;  // a's lease ended at 1500; b's wait would have ended at 1600
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
  engine_.sessions().Detach(b, {now_, effects_});
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
  EXPECT_EQ(engine_.Wait({{0, "key"}, kForever}, w, {now_, effects_}), WaitStatus::kWaiting);
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
      engine_.Transfer({{0, "key"}, "a", "b", std::nullopt, std::nullopt}, {now_, effects_});
  EXPECT_EQ(result.status, TransferStatus::kTransferred);
  const auto resolutions = Taken();
  ASSERT_EQ(resolutions.size(), 1U);
  EXPECT_EQ(resolutions[0].token, result.token);
  AdvanceTo(6000);
  EXPECT_TRUE(engine_.inspection().IsHeldBy({0, "key"}, "b", {now_, effects_}));
  AdvanceTo(6001);
  EXPECT_FALSE(engine_.inspection().IsHeldBy({0, "key"}, "b", {now_, effects_}));
}

TEST_F(LockEngineTest, TheFirstRuleThatMatchesLabelsWhatGivesNone) {
  engine_.set_label_rules({{"order:*", "orders"}, {"*", "rest"}});
  Attachment& a = Connect();
  const auto label_of = [&](std::string_view key, std::optional<std::string_view> label) {
    LockRequest request = Request("a");
    request.key = {0, key};
    request.label = label;
    engine_.Lock(request, a, {now_, effects_});
    return std::string(
        engine_.inspection().Inspect({0, key}, 1, {now_, effects_}).holders.at(0).label);
  };
  EXPECT_EQ(label_of("order:1", std::nullopt), "orders");
  EXPECT_EQ(label_of("mail:1", std::nullopt), "rest");
  EXPECT_EQ(label_of("order:2", "mine"), "mine");
  EXPECT_EQ(label_of("order:2", std::nullopt), "mine");
  engine_.set_label_rules({});
  EXPECT_EQ(label_of("order:3", std::nullopt), "");
  EXPECT_EQ(label_of("order:1", std::nullopt), "orders");
}

TEST_F(LockEngineTest, AWalkOfLinesMeetsEachAlthoughOverridesReorderThem) {
  Attachment& a = Connect();
  constexpr std::array<std::string_view, 3> kKeys = {"one", "two", "three"};
  for (const std::string_view key : kKeys) {
    LockRequest request = Request("a");
    request.key = {0, key};
    engine_.Lock(request, a, {now_, effects_});
    request.owner = "b";
    request.wait_ms = kForever;
    engine_.Lock(request, Connect(), {now_, effects_});
  }
  std::set<std::string> seen;
  std::uint64_t cursor = 0;
  do {
    cursor =
        engine_.inspection().Scan(cursor, 1, {.wait_ms_min = 0}, now_,
                                  [&](const LockSummary& lock) { seen.emplace(lock.key.bytes); });
    // The queue that was seen last is examined again, which moves it behind the others.
    if (seen.size() == 1) {
      LimitOverride unrelated;
      unrelated.pattern = "none";
      ASSERT_TRUE(engine_.limits().Set(unrelated, now_));
      engine_.inspection().CountHolders({0, *seen.begin()}, {now_, effects_});
      engine_.CheckInvariants();
    }
  } while (cursor != 0);
  EXPECT_EQ(seen, (std::set<std::string>{"one", "three", "two"}));
}

TEST_F(LockEngineTest, LabelsAndClientsAreForgottenWithTheirHolds) {
  Attachment& a = Connect();
  LockRequest request;
  request.key = {3, "key"};
  request.owner = "a";
  request.label = "payments";
  request.meta = "{\"job\":1}";
  engine_.Lock(request, a, {now_, effects_});
  EXPECT_EQ(engine_.CountLocks(3), 1U);
  const LockInfo info = engine_.inspection().Inspect({3, "key"}, 10, {now_, effects_});
  ASSERT_EQ(info.holders.size(), 1U);
  EXPECT_EQ(info.holders[0].label, "payments");
  EXPECT_EQ(info.holders[0].meta, "{\"job\":1}");
  EXPECT_EQ(info.holders[0].client->address, "test");
  engine_.clients().Disconnect(a.client);
  EXPECT_EQ(engine_.clients().size(), 1U);
  EXPECT_TRUE(engine_.Unlock({{3, "key"}, "a", std::nullopt}, {now_, effects_}));
  EXPECT_EQ(engine_.clients().size(), 0U);
}

}  // namespace
}  // namespace fairlock::engine
