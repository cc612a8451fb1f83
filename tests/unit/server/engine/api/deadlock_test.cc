// Waits that would never end: what searching for them costs, and where the search stops.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/engine/lock_engine.h"

namespace fairlock::engine {
namespace {

class DeadlockTest : public testing::Test {
 protected:
  ~DeadlockTest() override {
    for (auto& connection : connections_) engine_.sessions().Detach(*connection, {0, effects_});
    engine_.CheckInvariants();
  }

  Attachment& Connect() {
    connections_.push_back(
        std::make_unique<Attachment>(engine_.clients().Connect("test", "default")));
    return *connections_.back();
  }

  LockStatus Lock(const std::string& key, const std::string& owner, DurationMs wait_ms = 0) {
    LockRequest request;
    request.key = {0, key};
    request.owner = owner;
    request.wait_ms = wait_ms;
    return engine_.Lock(request, Connect(), {0, effects_}).status;
  }

  // Owner i holds key i and waits for the next key; the last owner does not wait.
  void MakeChain(int length) {
    for (int i = 0; i < length; ++i) Lock(Key(i), Owner(i));
    for (int i = 0; i + 1 < length; ++i) {
      ASSERT_EQ(Lock(Key(i + 1), Owner(i), kForever), LockStatus::kQueued);
    }
  }
  static std::string Key(int i) { return "key" + std::to_string(i); }
  static std::string Owner(int i) { return "owner" + std::to_string(i); }

  LockEngine engine_{EngineOptions{.reconnect_grace_ms = 0}};
  Effects effects_;
  std::vector<std::unique_ptr<Attachment>> connections_;
};

TEST_F(DeadlockTest, LongCircleIsFoundAndItsBeginIsNamed) {
  constexpr int kLength = 3000;
  MakeChain(kLength);
  const std::string first_key = Key(0);
  const std::string last_owner = Owner(kLength - 1);
  EXPECT_EQ(Lock(first_key, last_owner, kForever), LockStatus::kDeadlock);
  const Deadlock& deadlock = engine_.deadlocks().deadlock();
  EXPECT_EQ(deadlock.link_count, static_cast<std::size_t>(kLength));
  ASSERT_EQ(deadlock.links.size(), Deadlock::kLinksMax);
  EXPECT_EQ(deadlock.links[0].waiter, last_owner);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(deadlock.links[static_cast<std::size_t>(i)].key.bytes, Key(i));
    EXPECT_EQ(deadlock.links[static_cast<std::size_t>(i)].blocker, Owner(i));
    EXPECT_TRUE(deadlock.links[static_cast<std::size_t>(i)].is_held);
  }
}

TEST_F(DeadlockTest, CircleBeyondTheBoundIsNotRefused) {
  engine_.options().deadlock_search = 50;
  MakeChain(51);
  EXPECT_EQ(Lock(Key(0), Owner(50), kForever), LockStatus::kQueued);
}

TEST_F(DeadlockTest, CircleWithinTheBoundIsRefused) {
  // The search counts each link as two, a hold and a place.
  engine_.options().deadlock_search = 100;
  MakeChain(50);
  EXPECT_EQ(Lock(Key(0), Owner(49), kForever), LockStatus::kDeadlock);
}

TEST_F(DeadlockTest, OwnerCountsAgainWhenAllButOneOfItsRequestsHaveEnded) {
  Lock("a", "alice");
  Lock("b", "bob");
  Lock("c", "carol");
  for (const char* key : {"a", "c"}) Lock(key, "bob", kForever);
  EXPECT_EQ(Lock("b", "alice", kForever), LockStatus::kQueued);
  EXPECT_TRUE(engine_.Cancel({0, "b"}, "alice", {0, effects_}));
  EXPECT_TRUE(engine_.Cancel({0, "c"}, "bob", {0, effects_}));
  EXPECT_EQ(Lock("b", "alice", kForever), LockStatus::kDeadlock);
  EXPECT_EQ(engine_.counts().places, 1U);
}

TEST_F(DeadlockTest, ManyRequestsOfOneOwnerEndInAnyOrder) {
  constexpr int kCount = 100;
  for (int i = 0; i < kCount; ++i) {
    Lock(Key(i), "holder");
    ASSERT_EQ(Lock(Key(i), "waiter", kForever), LockStatus::kQueued);
  }
  for (int i = 0; i < kCount; i += 2) engine_.Cancel({0, Key(i)}, "waiter", {0, effects_});
  engine_.CheckInvariants();
  for (int i = kCount - 1; i > 0; i -= 2) engine_.Cancel({0, Key(i)}, "waiter", {0, effects_});
  EXPECT_EQ(engine_.counts().places, 0U);
}

TEST_F(DeadlockTest, WhatASearchExaminesIsCounted) {
  constexpr int kLength = 200;
  MakeChain(kLength);
  const std::uint64_t before = engine_.deadlocks().searched();
  EXPECT_EQ(Lock(Key(0), Owner(kLength - 1), kForever), LockStatus::kDeadlock);
  EXPECT_GE(engine_.deadlocks().searched() - before, static_cast<std::uint64_t>(kLength));
  const std::uint64_t after = engine_.deadlocks().searched();
  EXPECT_EQ(Lock("free", "owner", kForever), LockStatus::kGranted);
  EXPECT_EQ(engine_.deadlocks().searched(), after);
}

// Requests whose connections are gone are not live, and examining them costs as much.
TEST_F(DeadlockTest, SearchAmongTheRequestsOfOneOwnerIsBounded) {
  engine_.options().deadlock_search = 50;
  engine_.options().reconnect_grace_ms = 1000;
  MakeChain(2);
  for (int i = 10; i < 300; ++i) {
    Lock(Key(i), "holder");
    ASSERT_EQ(Lock(Key(i), Owner(1), 1), LockStatus::kQueued);
  }
  const std::uint64_t before = engine_.deadlocks().searched();
  const std::string owner = Owner(1);
  LockRequest request;
  request.key = {0, "key0"};
  request.owner = owner;
  request.wait_ms = kForever;
  engine_.Lock(request, Connect(), {50, effects_});
  EXPECT_LE(engine_.deadlocks().searched() - before, 60U);
}

// An owner holds a key for which its channel's subscriber waits; when the channel opens, all places
// return to their queues.
TEST_F(DeadlockTest, SearchesOfOneChannelShareTheirBound) {
  constexpr int kLength = 100;
  engine_.options().reconnect_grace_ms = 10'000;
  MakeChain(kLength);
  engine_.channels().Open("c", {0, effects_});
  for (int i = 0; i < 50; ++i) {
    Lock("mine" + std::to_string(i), "asker" + std::to_string(i));
    LockRequest request;
    const std::string owner = "asker" + std::to_string(i);
    request.key = {0, "key0"};
    request.owner = owner;
    request.notify = "c";
    ASSERT_EQ(engine_.Lock(request, Connect(), {0, effects_}).status, LockStatus::kQueued);
  }
  engine_.channels().Close("c", {0, effects_});
  engine_.options().deadlock_search = 500;
  const std::uint64_t before = engine_.deadlocks().searched();
  engine_.channels().Open("c", {0, effects_});
  EXPECT_LE(engine_.deadlocks().searched() - before, 500U);
  engine_.channels().Close("c", {0, effects_});
}

}  // namespace
}  // namespace fairlock::engine
