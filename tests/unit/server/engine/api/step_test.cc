// Several requests form one step: the slots that they free are handed over at its end.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/engine/engine_test_support.h"

namespace fairlock::engine {
namespace {

class StepTest : public LockEngineTest, public EventSink {
 protected:
  StepTest() { engine_.set_event_sink(this); }
  ~StepTest() override { engine_.set_event_sink(nullptr); }

  void Take(const Event& event) override { told_.push_back(event.kind); }

  void Begin() { engine_.BeginTransaction(now_); }
  void End() {
    engine_.EndTransaction({now_, effects_});
    engine_.CheckInvariants();
  }

  LockRequest RequestFor(std::string_view key, std::string_view owner) {
    LockRequest request = Request(owner);
    request.key = {0, key};
    return request;
  }

  void Wait(std::string_view key, std::string_view owner) {
    LockRequest request = RequestFor(key, owner);
    request.wait_ms = kForever;
    EXPECT_EQ(Ask(request, Connect()).status, LockStatus::kQueued);
  }

  bool Unlock(std::string_view key, std::string_view owner) {
    const bool was_held = engine_.Unlock({{0, key}, owner, std::nullopt}, {now_, effects_});
    engine_.CheckInvariants();
    return was_held;
  }

  std::uint64_t CountHolders(std::string_view key) {
    return engine_.inspection().CountHolders({0, key}, {now_, effects_});
  }

  bool Holds(std::string_view key, std::string_view owner) {
    return engine_.inspection().IsHeldBy({0, key}, owner, {now_, effects_});
  }

  std::vector<EventKind> told_;
};

TEST_F(StepTest, ReleasedKeyReadsFreeInsideAndIsHandedOverInTheEnd) {
  Ask(RequestFor("k", "a"), Connect());
  Wait("k", "b");
  Begin();
  EXPECT_TRUE(Unlock("k", "a"));
  EXPECT_EQ(CountHolders("k"), 0U);
  EXPECT_TRUE(Taken().empty());
  End();
  EXPECT_EQ(Taken().size(), 1U);
  EXPECT_TRUE(Holds("k", "b"));
}

TEST_F(StepTest, NobodyPassesTheLineInside) {
  Ask(RequestFor("k", "a"), Connect());
  Wait("k", "b");
  Begin();
  Unlock("k", "a");
  const LockResult again = Ask(RequestFor("k", "a"), Connect());
  EXPECT_EQ(again.status, LockStatus::kDenied);
  EXPECT_EQ(again.reason, DenialReason::kLine);
  End();
  EXPECT_TRUE(Holds("k", "b"));
}

TEST_F(StepTest, TheHandOverIsFromTheStateThatItLeaves) {
  Attachment& a = Connect();
  Ask(RequestFor("k", "a"), a);
  Wait("k", "b");
  Begin();
  Unlock("k", "a");
  // The waiter gives up in the same step.
  EXPECT_TRUE(engine_.Cancel({0, "k"}, "b", {now_, effects_}));
  EXPECT_EQ(engine_.counts().locks, 0U);
  EXPECT_EQ(Ask(RequestFor("k", "a"), a).status, LockStatus::kGranted);
  End();
  EXPECT_TRUE(Holds("k", "a"));
  ASSERT_EQ(effects_.resolutions.size(), 1U);
  EXPECT_EQ(Taken().front().kind, ResolutionKind::kCancelled);
}

TEST_F(StepTest, WhoWaitsLongestIsServedFirst) {
  Attachment& a = Connect();
  for (const char* key : {"x", "y", "z"}) Ask(RequestFor(key, "a"), a);
  Wait("z", "first");
  Wait("x", "second");
  Wait("y", "third");
  Begin();
  for (const char* key : {"x", "y", "z"}) Unlock(key, "a");
  End();
  const auto resolutions = Taken();
  ASSERT_EQ(resolutions.size(), 3U);
  EXPECT_EQ(resolutions[0].to, connections_[1].get());
  EXPECT_EQ(resolutions[1].to, connections_[2].get());
  EXPECT_EQ(resolutions[2].to, connections_[3].get());
}

TEST_F(StepTest, WhatIsOverdueIsHandedOverBeforeTheStep) {
  Ask(RequestFor("k", "a"), Connect());
  Wait("k", "b");
  now_ += 5001;
  Begin();
  EXPECT_TRUE(Holds("k", "b"));
  End();
}

TEST_F(StepTest, AnMlockThatIsOverdueOnOneKeyDoesNotSeeWhatTheStepFreedOnAnother) {
  Attachment& a = Connect();
  LockRequest longer = RequestFor("x", "a");
  longer.lease_ms = 60'000;
  Ask(longer, a);
  Ask(RequestFor("y", "b"), Connect());
  const std::vector<KeyName> keys = {{0, "x"}, {0, "y"}};
  LockRequest each = Request("c");
  each.wait_ms = kForever;
  const LockResult queued =
      engine_.Mlock({.keys = keys, .each = each}, Connect(), {now_, effects_});
  EXPECT_EQ(queued.status, LockStatus::kQueued);
  now_ += 5001;
  Begin();
  EXPECT_TRUE(Unlock("x", "a"));
  EXPECT_EQ(CountHolders("y"), 0U);
  EXPECT_EQ(CountHolders("x"), 0U);
  End();
  EXPECT_TRUE(Holds("x", "c"));
  EXPECT_TRUE(Holds("y", "c"));
}

TEST_F(StepTest, LimitsThatItChangesLetNobodyInBeforeItsEnd) {
  Ask("a", Connect(), 5000, 0, 1);
  Ask("b", Connect(), 5000, kForever, 1);
  Begin();
  LimitOverride row;
  row.pattern = "key";
  row.limit = 2;
  ASSERT_TRUE(engine_.limits().Set(row, now_));
  EXPECT_EQ(CountHolders("key"), 1U);
  End();
  EXPECT_EQ(CountHolders("key"), 2U);
}

TEST_F(StepTest, WatchersAreAnsweredInTheEnd) {
  Ask(RequestFor("k", "a"), Connect());
  EXPECT_EQ(engine_.Wait({{0, "k"}, kForever}, Connect(), {now_, effects_}), WaitStatus::kWaiting);
  Begin();
  Unlock("k", "a");
  Ask(RequestFor("k", "a"), Connect());
  EXPECT_TRUE(Taken().empty());
  End();
  EXPECT_EQ(Taken().size(), 1U);
}

TEST_F(StepTest, AReservationThatIsTakenOverInTheEndLeavesNoKeyVacated) {
  Attachment& b = Connect();
  Ask(RequestFor("k", "a"), Connect());
  LockRequest kept = RequestFor("k", "b");
  kept.keep_ms = 10'000;
  Ask(kept, b);
  Wait("k", "c");
  Unlock("k", "a");
  Begin();
  told_.clear();
  EXPECT_TRUE(engine_.Cancel({0, "k"}, "b", {now_, effects_}));
  End();
  EXPECT_EQ(told_, (std::vector{EventKind::kCancelled, EventKind::kGranted}));
}

TEST_F(StepTest, AReservationThatNobodyTakesOverVacatesTheKey) {
  Ask(RequestFor("k", "a"), Connect());
  LockRequest kept = RequestFor("k", "b");
  kept.keep_ms = 10'000;
  Ask(kept, Connect());
  Wait("k", "c");
  Unlock("k", "a");
  Begin();
  told_.clear();
  engine_.Cancel({0, "k"}, "b", {now_, effects_});
  engine_.Cancel({0, "k"}, "c", {now_, effects_});
  End();
  EXPECT_EQ(told_,
            (std::vector{EventKind::kCancelled, EventKind::kCancelled, EventKind::kVacated}));
}

TEST_F(StepTest, WhoReplacedIsNamedWhenItsRequestIsGone) {
  Ask(RequestFor("k", "a"), Connect());
  Wait("k", "b");
  Begin();
  {
    const std::string owner(100, 'r');
    LockRequest request = RequestFor("k", owner);
    request.keep_ms = 1000;
    request.waiters_max = 1;
    request.replaces_newest = true;
    EXPECT_EQ(Ask(request, Connect()).status, LockStatus::kKept);
  }
  End();
  const auto resolutions = Taken();
  ASSERT_EQ(resolutions.size(), 1U);
  EXPECT_EQ(resolutions[0].by, std::string(100, 'r'));
}

TEST_F(StepTest, AConnectionThatIsLostInsideHandsOverInTheEnd) {
  Attachment& a = Connect();
  LockRequest request = RequestFor("k", "a");
  request.terms.session_grace_ms = 0;
  Ask(request, a);
  Wait("k", "b");
  Begin();
  Disconnect(a);
  EXPECT_EQ(CountHolders("k"), 0U);
  End();
  EXPECT_TRUE(Holds("k", "b"));
}

}  // namespace
}  // namespace fairlock::engine
