// Tests closing a connection that has very many sessions.
#include <gtest/gtest.h>

#include <string>

#include "server/engine/lock_engine.h"

namespace fairlock::engine {
namespace {

constexpr std::size_t kAtOnce = 1000;
constexpr std::size_t kHolds = 2500;

class ManySessions : public testing::Test {
 protected:
  ManySessions() {
    for (std::size_t i = 0; i < kHolds; ++i) {
      LockRequest request = For(i, "holder");
      request.terms.session_grace_ms = 0;
      EXPECT_EQ(engine_.Lock(request, holder_, step_).status, LockStatus::kGranted);
      request = For(i, "waiter");
      request.lease_ms = 5000;
      request.wait_ms = kForever;
      EXPECT_EQ(engine_.Lock(request, waiter_, step_).status, LockStatus::kQueued);
    }
  }
  ~ManySessions() override {
    engine_.sessions().Detach(waiter_, step_);
    engine_.sessions().Detach(other_, step_);
  }

  LockRequest For(std::size_t key, std::string_view owner) {
    key_ = "key" + std::to_string(key);
    LockRequest request;
    request.key = {0, key_};
    request.owner = owner;
    return request;
  }
  bool IsHeldBy(std::size_t key, std::string_view owner) {
    return engine_.inspection().IsHeldBy(For(key, owner).key, owner, step_);
  }
  std::size_t TakeGranted() { return std::exchange(effects_.resolutions, {}).size(); }

  LockEngine engine_{EngineOptions{.reconnect_grace_ms = 0}};
  Effects effects_;
  Step step_{1000, effects_};
  std::string key_;
  Attachment holder_;
  Attachment waiter_;
  Attachment other_;
};

TEST_F(ManySessions, EndInStepsOfBoundedLength) {
  engine_.sessions().Detach(holder_, step_);
  EXPECT_EQ(TakeGranted(), kAtOnce);
  EXPECT_TRUE(IsHeldBy(kAtOnce - 1, "waiter"));
  EXPECT_TRUE(IsHeldBy(kAtOnce, "holder"));
  EXPECT_EQ(engine_.NextDeadline(), 0);
  engine_.CheckInvariants();
  EXPECT_TRUE(engine_.Advance(700, step_));
  EXPECT_EQ(TakeGranted(), 700U);
  EXPECT_FALSE(engine_.Advance(kHolds, step_));
  EXPECT_EQ(TakeGranted(), kHolds - kAtOnce - 700);
  EXPECT_EQ(engine_.counts().disconnected, kHolds);
  EXPECT_TRUE(IsHeldBy(kHolds - 1, "waiter"));
  engine_.CheckInvariants();
}

TEST_F(ManySessions, AreLeftToAdvanceWhileManyHaveEndedAtOnce) {
  LockRequest request = For(kHolds, "other");
  request.terms.session_grace_ms = 0;
  EXPECT_EQ(engine_.Lock(request, other_, step_).status, LockStatus::kGranted);
  engine_.sessions().Detach(holder_, step_);
  engine_.sessions().Detach(other_, step_);
  EXPECT_TRUE(IsHeldBy(kHolds, "other"));
  EXPECT_FALSE(engine_.Advance(kHolds, step_));
  EXPECT_FALSE(IsHeldBy(kHolds, "other"));
}

TEST_F(ManySessions, ASessionThatAnotherConnectionContinuesStays) {
  engine_.sessions().Detach(holder_, step_);
  LockRequest request = For(kHolds - 1, "holder");
  request.terms.session_grace_ms = 0;
  EXPECT_EQ(engine_.Lock(request, other_, step_).status, LockStatus::kAlready);
  EXPECT_FALSE(engine_.Advance(kHolds, step_));
  EXPECT_TRUE(IsHeldBy(kHolds - 1, "holder"));
  EXPECT_EQ(engine_.counts().disconnected, kHolds - 1);
}

TEST_F(ManySessions, MayBeLeftWhenTheEngineIsDestroyed) {
  engine_.sessions().Detach(holder_, step_);
  EXPECT_TRUE(IsHeldBy(kHolds - 1, "holder"));
}

}  // namespace
}  // namespace fairlock::engine
