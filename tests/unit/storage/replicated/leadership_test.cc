#include "storage/replicated/leadership.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlock::storage::replicated {
namespace {

using Action = Leadership::Action;

class LeadershipTest : public testing::Test {
 protected:
  SeenBeat BeatAt(std::uint64_t epoch, std::uint64_t sequence) {
    SeenBeat seen;
    seen.beat = {.epoch = epoch, .run = run_, .sequence = sequence, .leader = "a"};
    seen.value = EncodeBeat(seen.beat);
    seen.revision = ++revision_;
    return seen;
  }

  void See(std::uint64_t epoch, std::uint64_t sequence, TimeMs now) {
    standby_.SeeBeat(BeatAt(epoch, sequence), now);
  }

  const RunId run_ = NewRunId();
  std::int64_t revision_ = 100;
  Leadership standby_{{.node = "b", .rank = 1}, 0};
};

TEST_F(LeadershipTest, AStandbyThatHasSeenNothingWaits) {
  EXPECT_EQ(standby_.Next(1'000'000), Action::kWait);
  EXPECT_EQ(standby_.Deadline(0), kNever);
}

TEST_F(LeadershipTest, BeatsKeepAStandbyQuiet) {
  for (TimeMs now = 0; now < 60'000; now += 999) {
    EXPECT_EQ(standby_.Next(now), Action::kWait);
    See(1, static_cast<std::uint64_t>(now) + 1, now);
  }
}

TEST_F(LeadershipTest, ASilentLeaderGetsALastChanceAfterTheCanary) {
  See(1, 1, 0);
  EXPECT_EQ(standby_.Deadline(10), 1'000);
  EXPECT_EQ(standby_.Next(999), Action::kWait);
  EXPECT_EQ(standby_.Next(1'000), Action::kWriteCanary);
  standby_.CanaryWritten(1'010);
  EXPECT_EQ(standby_.Deadline(1'010), 2'060);
  EXPECT_EQ(standby_.Next(2'059), Action::kWait);
  EXPECT_EQ(standby_.Next(2'060), Action::kTakeOver);
}

TEST_F(LeadershipTest, ABeatAfterTheCanaryEndsTheDoubt) {
  See(1, 1, 0);
  standby_.CanaryWritten(1'010);
  See(1, 2, 2'000);
  EXPECT_EQ(standby_.Next(2'999), Action::kWait);
  EXPECT_EQ(standby_.Next(3'000), Action::kWriteCanary);
}

TEST_F(LeadershipTest, ACanaryThatIsAnsweredAfterABeatProvesNothing) {
  See(1, 1, 0);
  EXPECT_EQ(standby_.Next(1'000), Action::kWriteCanary);
  See(1, 2, 1'001);
  standby_.CanaryWritten(1'002);
  EXPECT_EQ(standby_.Next(2'000), Action::kWait);
  EXPECT_EQ(standby_.Next(2'001), Action::kWriteCanary);
}

TEST_F(LeadershipTest, NobodyIsDeposedWhileEtcdIsDown) {
  See(1, 1, 0);
  for (TimeMs now = 1'000; now < 20'000; now += 250) {
    EXPECT_EQ(standby_.Next(now), Action::kWriteCanary);
    standby_.CanaryFailed(now);
    EXPECT_EQ(standby_.Next(now + 249), Action::kWait);
  }
  // etcd is back, and the leader is heard from again before its grace period runs out.
  standby_.CanaryWritten(20'000);
  See(1, 2, 20'900);
  EXPECT_EQ(standby_.Next(21'800), Action::kWait);
}

TEST_F(LeadershipTest, ALeaderWhosePortRefusesIsNotWaitedFor) {
  See(1, 1, 0);
  standby_.LeaderRefused(10);
  EXPECT_EQ(standby_.Next(59), Action::kWait);
  EXPECT_EQ(standby_.Next(60), Action::kTakeOver);
}

TEST_F(LeadershipTest, TheNamedSuccessorComesFirst) {
  SeenBeat seen = BeatAt(3, 9);
  seen.beat.state = Beat::State::kHandedOver;
  seen.beat.successor = "b";
  standby_.SeeBeat(seen, 5);
  EXPECT_EQ(standby_.Next(5), Action::kTakeOver) << "it waits for no other rank";

  // If the successor does not take over, the others do not wait for long, because the leader is
  // gone.
  Leadership other({.node = "c", .rank = 2}, 0);
  other.SeeBeat(seen, 5);
  EXPECT_EQ(other.Next(354), Action::kWait);
  EXPECT_EQ(other.Deadline(354), 355);
  EXPECT_EQ(other.Next(355), Action::kTakeOver);
}

TEST_F(LeadershipTest, ANewFleetIsTakenByRank) {
  standby_.SeeBeat({}, 0);
  EXPECT_EQ(standby_.Next(49), Action::kWait);
  EXPECT_EQ(standby_.Next(50), Action::kTakeOver);
}

TEST_F(LeadershipTest, AnImportIsNotTakenOver) {
  SeenBeat seen = BeatAt(1, 1);
  seen.beat.state = Beat::State::kImporting;
  standby_.SeeBeat(seen, 0);
  standby_.LeaderRefused(10);
  EXPECT_EQ(standby_.Next(1'000'000), Action::kWait);
  EXPECT_EQ(standby_.Deadline(10), kNever);
  seen = BeatAt(1, 2);
  seen.beat.state = Beat::State::kHandedOver;
  standby_.SeeBeat(seen, 1'000'000);
  EXPECT_EQ(standby_.Next(1'000'050), Action::kTakeOver);
}

TEST_F(LeadershipTest, ARegisterThatWentBackStopsTheTakeOver) {
  See(4, 100, 0);
  See(4, 99, 100);
  EXPECT_TRUE(standby_.has_gone_back());
  EXPECT_EQ(standby_.Next(1'000'000), Action::kWait);
  standby_.AcceptRestore(1'000'000);
  EXPECT_EQ(standby_.Next(1'001'000), Action::kWriteCanary);
}

TEST_F(LeadershipTest, AnEmptyRegisterAfterAFullOneWentBack) {
  See(4, 100, 0);
  standby_.SeeBeat({}, 100);
  EXPECT_TRUE(standby_.has_gone_back());
  EXPECT_EQ(standby_.Next(1'000'000), Action::kWait);
}

TEST_F(LeadershipTest, ANodeThatLeadsHasNothingLeftToDecide) {
  See(1, 1, 0);
  standby_.TookOver(BeatAt(2, 2));
  EXPECT_TRUE(standby_.leads());
  standby_.LeaderRefused(100);
  EXPECT_EQ(standby_.Next(1'000'000), Action::kWait);
  EXPECT_EQ(standby_.Deadline(1'000'000), kNever);
  EXPECT_EQ(standby_.seen().beat.epoch, 2);
}

}  // namespace
}  // namespace fairlock::storage::replicated
