#include "storage/replicated/standby.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/storage/etcd/etcd_test_support.h"
#include "tests/unit/storage/etcd/fake_etcd.h"
#include "tests/unit/storage/replicated/replicated_test_support.h"

namespace fairlock::storage::replicated {
namespace {

constexpr DurationMs kSilentMs = 700;
constexpr DurationMs kTrustMs = 500;

// A standby on a thread of its own, with a clock that stands still, and the leader of its fleet.
class StandbyTest : public testing::Test {
 protected:
  StandbyTest() { Commit(leader_.TakeOver({})); }
  ~StandbyTest() override {
    if (!standby_) return;
    standby_->Stop();
    thread_.join();
  }

  void Begin(std::chrono::milliseconds look_every = 5ms) {
    standby_ = std::make_unique<Standby>(
        *client_, writer_,
        StandbyOptions{.leadership = {.node = "b"},
                       .canary_key = "/fairlock/t/canary/b",
                       .look_every = look_every,
                       .trust_ms = kTrustMs,
                       .silent_ms = kSilentMs,
                       .now_ms = [this] { return now_.load(); },
                       .on_leader = [this](const LeaderView& view) { Record(view); }});
    thread_ = std::thread([this] {
      status_ = standby_->AwaitLeadership();
      has_ended_ = true;
    });
    ASSERT_TRUE(AwaitSeen(leader_.committed().beat.sequence));
  }

  // Writes the leader's next beat.
  const SeenBeat& Beat(const GuardedWrite& write = {}) {
    Commit(leader_.Write(write));
    return leader_.committed();
  }

  void WriteKey(const std::string& key, const std::string& value) {
    etcd::Txn txn;
    txn.then.push_back(etcd::Put{.key = key, .value = value});
    ASSERT_EQ(leader_client_->Transact(txn, 5s).outcome, etcd::Outcome::kDone);
  }

  bool AwaitSeen(std::uint64_t sequence) {
    return Becomes([&] { return standby_->Seen().sequence == sequence; });
  }
  // Whether the standby has looked at its surroundings several more times and still waits.
  bool StillWaits() {
    std::this_thread::sleep_for(100ms);
    return !has_ended_;
  }
  LeaderView last_view() {
    const std::lock_guard lock(mutex_);
    return views_.empty() ? LeaderView() : views_.back();
  }

  etcd::FakeEtcd etcd_;
  std::atomic<TimeMs> now_ = 10'000;
  std::unique_ptr<Standby> standby_;
  std::atomic<bool> has_ended_ = false;
  Status status_;
  FrameWriter leader_{PartitionKeys("/fairlock/t/p/00/"), NewRunId(), "a"};
  FrameWriter writer_{PartitionKeys("/fairlock/t/p/00/"), NewRunId(), "b"};

 private:
  void Commit(const etcd::Txn& txn) {
    ASSERT_EQ(leader_.Take(leader_client_->Transact(txn, 5s)), FrameWriter::Progress::kCommitted);
  }
  void Record(const LeaderView& view) {
    const std::lock_guard lock(mutex_);
    views_.push_back(view);
  }

  const etcd::EtcdOptions options_{.endpoints = {etcd_.endpoint()}};
  std::unique_ptr<etcd::EtcdClient> client_ = etcd::ClientOf(options_);
  std::unique_ptr<etcd::EtcdClient> leader_client_ = etcd::ClientOf(options_);
  std::thread thread_;
  std::mutex mutex_;
  std::vector<LeaderView> views_;
};

TEST_F(StandbyTest, ABeatThatItHearsNeedNotBeRead) {
  Begin();
  SeenBeat heard = leader_.committed();
  ++heard.revision;
  ++heard.beat.sequence;
  standby_->Hear(heard);
  ASSERT_TRUE(AwaitSeen(2));
  const int requests = etcd_.requests();
  EXPECT_TRUE(StillWaits());
  EXPECT_EQ(etcd_.requests(), requests);
  // When the watch has been silent for too long, the standby reads again.
  Beat();
  Beat();
  now_ += kTrustMs;
  EXPECT_TRUE(AwaitSeen(3));
}

TEST_F(StandbyTest, AnOlderBeatThatItHearsLateHasNoEffect) {
  SeenBeat old = leader_.committed();
  old.beat.state = Beat::State::kHandedOver;
  Beat();
  Begin();
  standby_->Hear(old);
  EXPECT_TRUE(StillWaits());
  EXPECT_EQ(standby_->Seen().sequence, 2U);
  EXPECT_FALSE(standby_->AwaitsAcceptance());
}

TEST_F(StandbyTest, AHandOverThatItHearsEndsItsPause) {
  Begin(60s);
  const auto began = std::chrono::steady_clock::now();
  standby_->Hear(Beat({.hands_over = true}));
  EXPECT_TRUE(Becomes([this] { return has_ended_.load(); }));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 50s);
  EXPECT_TRUE(status_.ok()) << status_.message();
  EXPECT_EQ(writer_.committed().beat.epoch, 2U);
  EXPECT_TRUE(last_view().is_this_node);
}

TEST_F(StandbyTest, ABeatThatItHearsEndsTheSilence) {
  Begin();
  now_ += kSilentMs;
  ASSERT_TRUE(Becomes([this] { return last_view().is_silent; }));
  standby_->Hear(Beat());
  EXPECT_TRUE(Becomes([this] { return !last_view().is_silent; }));
  EXPECT_EQ(last_view().beat.leader, "a");
}

TEST_F(StandbyTest, ARefusedConnectionCountsOnlyWhileTheLeaderIsSilent) {
  Begin();
  standby_->LeaderRefused(leader_.committed().beat.run);
  EXPECT_TRUE(StillWaits());
  // The refusal has been forgotten, because the leader was heard.
  now_ += kSilentMs;
  ASSERT_TRUE(Becomes([this] { return last_view().is_silent; }));
  EXPECT_TRUE(StillWaits());
  standby_->LeaderRefused(NewRunId());  // another run's port
  EXPECT_TRUE(StillWaits());
  standby_->LeaderRefused(leader_.committed().beat.run);
  EXPECT_TRUE(Becomes([this] { return has_ended_.load(); }));
  EXPECT_TRUE(status_.ok()) << status_.message();
  EXPECT_EQ(writer_.committed().beat.leader, "b");
}

TEST_F(StandbyTest, ALeaderThatIsNotHeardOfIsLostAlsoIfEtcdDoesNotAnswer) {
  Begin();
  etcd_.Stop();
  now_ += 3'999;
  EXPECT_TRUE(StillWaits());
  EXPECT_FALSE(last_view().is_lost);
  EXPECT_EQ(standby_->HeardMsAgo(), 3'999);
  now_ += 1;
  EXPECT_TRUE(Becomes([&] { return last_view().is_lost; }));
  EXPECT_EQ(last_view().beat.leader, "a");
  SeenBeat heard = leader_.committed();
  ++heard.revision;
  ++heard.beat.sequence;
  standby_->Hear(heard);
  EXPECT_TRUE(Becomes([&] { return !last_view().is_lost; }));
  EXPECT_FALSE(has_ended_);
}

// A node that was started after a restore has seen no newer beat, but others have.
TEST_F(StandbyTest, TheMarkOfARestoreStopsATakeOverUntilAnOperatorAccepts) {
  WriteKey("/fairlock/t/p/00/restored", "7");
  Begin();
  Beat({.hands_over = true});
  EXPECT_TRUE(Becomes([&] { return standby_->AwaitsAcceptance(); }));
  EXPECT_TRUE(StillWaits());
  EXPECT_TRUE(last_view().awaits_acceptance);
  standby_->AcceptRestore();
  EXPECT_TRUE(Becomes([&] { return has_ended_.load(); }));
  EXPECT_TRUE(status_.ok()) << status_.message();
  EXPECT_EQ(writer_.committed().beat.epoch, 8U);
  EXPECT_TRUE(standby_->is_restored());
}

TEST_F(StandbyTest, ANodeThatNoticesARestoreMarksIt) {
  Begin();
  standby_->DoubtEtcd();
  Beat({.hands_over = true});
  EXPECT_TRUE(Becomes([&] { return etcd_.Find("/fairlock/t/p/00/restored").value == "1"; }));
  EXPECT_TRUE(StillWaits());
  // Another node's operator has accepted it.
  WriteKey("/fairlock/t/p/00/accepted", "1");
  EXPECT_TRUE(Becomes([&] { return has_ended_.load(); }));
  EXPECT_EQ(writer_.committed().beat.epoch, 2U);
}

TEST_F(StandbyTest, AnImportThatItHearsOfEndsIt) {
  Begin();
  SeenBeat heard = leader_.committed();
  ++heard.revision;
  ++heard.beat.sequence;
  heard.beat.state = Beat::State::kImporting;
  standby_->Hear(heard);
  EXPECT_TRUE(Becomes([this] { return has_ended_.load(); }));
  EXPECT_EQ(status_.code(), StatusCode::kRefused);
  EXPECT_EQ(status_.message(), ImportNotEnded().message());
}

TEST_F(StandbyTest, AStopEndsItsPause) {
  Begin(60s);
  standby_->Stop();
  EXPECT_TRUE(Becomes([this] { return has_ended_.load(); }));
  EXPECT_EQ(status_.code(), StatusCode::kRefused);
}

}  // namespace
}  // namespace fairlock::storage::replicated
