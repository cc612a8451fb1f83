#include "server/net/relay/leader_probe.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "tests/unit/server/net/net_test_support.h"
#include "tests/unit/server/net/relay/leader_port.h"

namespace fairlock::net {
namespace {

using std::chrono_literals::operator""ms;

// Long enough for several probes of a silent leader.
constexpr auto kSeveralProbes = LeaderProbe::kEveryMs * 3 * 1ms;

// Longer than the pause between two probes of a port that has not accepted.
constexpr int kQuietMs = 1'500;
static_assert(kQuietMs > LeaderProbe::kFirstEveryMs);

class LeaderProbeTest : public testing::Test {
 protected:
  LeaderProbeTest() {
    leader_.Open();
    loop_.Do([this](TurnLoop& loop, command::ServerParts&) {
      probe_ = std::make_unique<LeaderProbe>(loop.io_context(), [this] { ++refused_; });
    });
  }
  ~LeaderProbeTest() override {
    loop_.Do([this](TurnLoop&, command::ServerParts&) { probe_.reset(); });
  }

  void SetLeader(std::optional<LeaderAddress> leader) {
    loop_.Do([&](TurnLoop&, command::ServerParts&) { probe_->SetLeader(std::move(leader)); });
  }
  void SetSilent(bool is_silent) {
    loop_.Do([&](TurnLoop&, command::ServerParts&) { probe_->SetSilent(is_silent); });
  }
  // Waits until the probe knows that the port accepts: it does not connect again.
  void AwaitAccepted() {
    do {
      leader_.Accept();
    } while (leader_.AwaitConnection(kQuietMs));
  }
  bool IsRefused() {
    return WaitUntil([this] { return refused_ > 0; });
  }
  bool IsNotRefused() {
    std::this_thread::sleep_for(kSeveralProbes);
    return refused_ == 0;
  }

  LoopOnThread loop_;
  LeaderPort leader_;
  std::atomic<int> refused_ = 0;
  std::unique_ptr<LeaderProbe> probe_;
};

TEST_F(LeaderProbeTest, ReportsAPortThatAcceptedAndNowRefusesWhileTheLeaderIsSilent) {
  SetLeader(leader_.address());
  AwaitAccepted();
  leader_.Close();
  EXPECT_TRUE(IsNotRefused()) << "the leader is not silent";
  SetSilent(true);
  EXPECT_TRUE(IsRefused());
  SetSilent(false);
  std::this_thread::sleep_for(kSeveralProbes);
  refused_ = 0;
  EXPECT_TRUE(IsNotRefused()) << "the leader is heard again";
}

TEST_F(LeaderProbeTest, ConnectsRepeatedlyWhileTheLeaderIsSilent) {
  SetLeader(leader_.address());
  AwaitAccepted();
  SetSilent(true);
  for (int i = 0; i < 3; ++i) EXPECT_GE(leader_.Accept().number(), 0);
  EXPECT_EQ(refused_, 0);
  leader_.Close();
  EXPECT_TRUE(IsRefused());
}

TEST_F(LeaderProbeTest, ARefusalByAPortThatNeverAcceptedProvesNothing) {
  leader_.Close();
  SetLeader(leader_.address());
  SetSilent(true);
  EXPECT_TRUE(IsNotRefused());
  leader_.Open();
  EXPECT_GE(leader_.Accept().number(), 0);
  EXPECT_GE(leader_.Accept().number(), 0);  // the first one was taken notice of
  leader_.Close();
  EXPECT_TRUE(IsRefused());
}

TEST_F(LeaderProbeTest, AnotherLeaderMustHaveAcceptedItself) {
  const LeaderPort other;
  SetLeader(leader_.address());
  AwaitAccepted();
  SetLeader(other.address());
  SetSilent(true);
  EXPECT_TRUE(IsNotRefused());
  SetLeader(std::nullopt);
  SetSilent(true);
  EXPECT_TRUE(IsNotRefused());
}

TEST_F(LeaderProbeTest, ALeaderThatServesOnlyTlsIsProbedAtThatPort) {
  LeaderAddress address = leader_.address();
  address.tls_port = std::exchange(address.port, 0);
  SetLeader(address);
  AwaitAccepted();
  leader_.Close();
  SetSilent(true);
  EXPECT_TRUE(IsRefused());
}

}  // namespace
}  // namespace fairlock::net
