#include "server/persist/state_log.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "storage/records/token_blocks.h"
#include "tests/doubles/memory_store.h"

namespace fairlock::persist {
namespace {

constexpr storage::LogId kGatedLogId = {'t', 'e', 's', 't'};

// Executes appends only while its gate is open, and counts them.
class GatedStore final : public storage::Store {
 public:
  storage::Status Load(storage::RecordSink& sink) override { return content_.Load(sink); }
  storage::Status Append(std::span<const storage::StoredRecord> records,
                         storage::Durability durability) override {
    std::unique_lock lock(mutex_);
    ++begun_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
    return content_.Append(records, durability);
  }
  storage::Status Replace(const storage::StoredRecord& heading,
                          std::uint64_t first_batch) override {
    return content_.Replace(heading, first_batch);
  }
  storage::Status Sync() override { return {}; }

  void SetOpen(bool is_open) {
    const std::lock_guard lock(mutex_);
    is_open_ = is_open;
    changed_.notify_all();
  }
  int begun() {
    const std::lock_guard lock(mutex_);
    return begun_;
  }
  bool AwaitBegun(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return begun_ >= count; });
  }

 private:
  storage::MemoryStore content_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
  int begun_ = 0;
};

class GatedHome final : public storage::LogHome {
 public:
  GatedHome() {
    EXPECT_TRUE(storage::BeginLog(store_, kGatedLogId).ok());
    storage::RowTable rows;
    end_ = storage::LoadLog(store_, rows).value();
  }

  GatedStore& store() override { return store_; }
  const storage::LogEnd& end() const override { return end_; }
  bool is_copy() const override { return false; }
  storage::Status Settle() override { return {}; }
  storage::Status Check() override { return {}; }
  std::optional<std::uint64_t> FreeBytes() const override { return std::nullopt; }

 private:
  GatedStore store_;
  storage::LogEnd end_;
};

class StateLogTest : public testing::Test {
 protected:
  void TearDown() override { home_.store().SetOpen(true); }

  void Start(bool confirms_replies) {
    StateLogOptions options;
    options.durability = persist::Durability::kSync;
    options.confirms_replies = confirms_replies;
    options.wake = [] {};
    options.unix_ms = [] { return std::int64_t{1'790'000'000'000}; };
    options.monotonic_ns = [] { return std::uint64_t{1}; };
    log_.emplace(engine_, home_, LoadedRows(), std::move(options), engine::Step{now_, effects_});
    log_->AwaitJournal();
    Turn();
    log_->AwaitJournal();
    log_->BeginTurn(now_);
    ASSERT_TRUE(log_->state().is_ready);
  }

  // Plays a turn in which nothing changes.
  void Turn() {
    log_->BeginTurn(now_);
    log_->EndTurn(now_);
  }

  // Plays a turn that sends a reply about locks. Returns the batch that the reply must wait for.
  std::uint64_t TurnWithReply() {
    log_->BeginTurn(now_);
    const std::uint64_t batch = log_->Seal(now_);
    log_->EndTurn(now_);
    return batch;
  }

  engine::TimeMs now_ = 1'000;
  engine::LockEngine engine_{engine::EngineOptions{}};
  engine::Effects effects_;
  GatedHome home_;
  std::optional<StateLog> log_;
};

TEST_F(StateLogTest, AReplyWithoutChangesWaitsForNothing) {
  Start(false);
  const int begun = home_.store().begun();
  EXPECT_LE(TurnWithReply(), log_->completed_batch());
  now_ += 10'000;
  Turn();
  log_->AwaitJournal();
  EXPECT_EQ(home_.store().begun(), begun);
  EXPECT_FALSE(log_->state().is_unsure);
}

TEST_F(StateLogTest, AConfirmedReplyWaitsForAWriteThatBeginsAfterIt) {
  Start(true);
  log_->AwaitJournal();
  const int begun = home_.store().begun();
  home_.store().SetOpen(false);
  const std::uint64_t first = TurnWithReply();
  EXPECT_GT(first, log_->completed_batch());
  ASSERT_TRUE(home_.store().AwaitBegun(begun + 1));
  // That write has already started, so its completion proves nothing about the next reply.
  const std::uint64_t second = TurnWithReply();
  EXPECT_GT(second, first);
  // This write has not started yet, so further replies can share it.
  EXPECT_EQ(TurnWithReply(), second);
  home_.store().SetOpen(true);
  log_->AwaitJournal();
  log_->BeginTurn(now_);
  EXPECT_GE(log_->completed_batch(), second);
}

TEST_F(StateLogTest, AnIdleLogConfirmsTwiceASecond) {
  Start(true);
  log_->AwaitJournal();
  const int begun = home_.store().begun();
  for (int i = 0; i < 4; ++i) {
    now_ = log_->NextDeadline();
    Turn();
    log_->AwaitJournal();
    log_->BeginTurn(now_);
  }
  EXPECT_GE(home_.store().begun(), begun + 1);
  EXPECT_LE(now_, 1'000 + 4 * 500);
}

TEST_F(StateLogTest, IsUnsureTwoSecondsAfterAWriteThatDoesNotEnd) {
  Start(true);
  log_->AwaitJournal();
  home_.store().SetOpen(false);
  const std::uint64_t batch = TurnWithReply();
  now_ += 1'999;
  Turn();
  EXPECT_FALSE(log_->state().is_unsure);
  EXPECT_LE(log_->NextDeadline(), now_ + 1);
  ++now_;
  Turn();
  EXPECT_TRUE(log_->state().is_unsure);
  home_.store().SetOpen(true);
  log_->AwaitJournal();
  Turn();
  EXPECT_GE(log_->completed_batch(), batch);
  EXPECT_FALSE(log_->state().is_unsure);
}

// A fleet's log is read frame by frame, so batches make a snapshot due however small they are.
TEST(StateLogSnapshots, ManySmallBatchesBeginASnapshot) {
  constexpr int kBatches = 100;
  for (const bool is_followed : {true, false}) {
    engine::LockEngine engine{engine::EngineOptions{}};
    engine::Effects effects;
    engine::Attachment client{engine.clients().Connect("test", "default")};
    GatedHome home;
    StateLogOptions options{.durability = persist::Durability::kSync,
                            .confirms_replies = true,
                            .snapshots = {.batch_bytes = kBatches * 1'000'000,
                                          .bytes_of_a_batch = 1'000'000,
                                          .is_followed = [is_followed] { return is_followed; }},
                            .wake = [] {},
                            .unix_ms = [] { return std::int64_t{1'790'000'000'000}; },
                            .monotonic_ns = [] { return std::uint64_t{1}; }};
    StateLog log(engine, home, LoadedRows(), std::move(options), engine::Step{1'000, effects});
    log.AwaitJournal();
    int batches = 0;
    while (log.Figures().snapshots == 0 && batches < 10 * kBatches) {
      log.BeginTurn(1'000);
      const std::string key = "key" + std::to_string(++batches);
      engine::LockRequest request;
      request.key = {0, key};
      request.owner = "a";
      engine.Lock(request, client, {1'000, effects});
      log.EndTurn(1'000);
      log.AwaitJournal();
    }
    const int due_after = is_followed ? kBatches : 4 * kBatches;
    EXPECT_NEAR(batches, due_after, 5);
    engine.sessions().Detach(client, {1'000, effects});
  }
}

// The process started when its clock was a day ahead; it was set back before the locks were read.
TEST(StateLogClock, AClockThatWasSetBackDoesNotDelayTheFirstGrant) {
  constexpr std::int64_t kNowMs = 1'790'000'000'000;
  constexpr engine::Token kTokensOfADay = storage::kTokensOfACopy;
  const engine::Token now_token =
      storage::FirstToken({.seconds_since_2020 = (kNowMs - 1'577'836'800'000) / 1'000});
  engine::LockEngine engine(engine::EngineOptions{.first_token = now_token + kTokensOfADay});
  engine::Effects effects;
  GatedHome home;
  StateLogOptions options{.durability = persist::Durability::kSync,
                          .confirms_replies = true,
                          .wake = [] {},
                          .unix_ms = [] { return kNowMs; },
                          .monotonic_ns = [] { return std::uint64_t{1}; }};
  StateLog log(engine, home, LoadedRows(), std::move(options), engine::Step{1'000, effects});
  log.AwaitJournal();
  log.BeginTurn(1'000);
  EXPECT_TRUE(log.state().is_ready);
  EXPECT_FALSE(log.is_lagging());
  EXPECT_EQ(engine.next_token(), now_token);
}

}  // namespace
}  // namespace fairlock::persist
