// When a warm standby takes over, it has the same rows as a cold load gives, whatever happened
// before.
#include "storage/replicated/log_tail.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "tests/unit/storage/etcd/etcd_server.h"
#include "tests/unit/storage/etcd/etcd_test_support.h"
#include "tests/unit/storage/replicated/replicated_test_support.h"

namespace fairlock::storage::replicated {
namespace {

const PartitionKeys& KeysOfTest() {
  static const PartitionKeys keys("/fairlock/t/p/00/");
  return keys;
}

// A tail together with its rows.
class Warm {
 public:
  explicit Warm(const etcd::EtcdOptions& options)
      : tail_(etcd::ClientOf(options), KeysOfTest(), {.etcd = options, .now_ms = NowMs}) {
    tail_.Begin([this]() -> ChangeSink& {
      rows_.emplace();
      return *rows_;
    });
  }

  LogTail& tail() { return tail_; }
  const std::map<RowTable::Name, std::string>& rows() const { return rows_->rows(); }

  // Waits until it has everything the leader has written so far; returns false on timeout.
  bool AwaitSync(const Leader& leader) {
    const std::uint64_t end = leader.committed().beat.next_frame;
    const bool is_reached = Becomes([&] {
      const StandbyLag lag = tail_.lag();
      return lag.is_following && lag.frames == 0 && lag.ms == 0 && tail_.next_frame() == end;
    });
    return is_reached;
  }

  Result<LogEnd> TakeOver(Leader& next) {
    tail_.Stop();
    return tail_.Finish(
        {.revision = next.committed().revision, .end = next.committed().beat.next_frame},
        [&next] { return next.store().newest_write(); });
  }

 private:
  std::optional<RowTable> rows_;
  LogTail tail_;
};

class LogTailTest : public testing::Test {
 protected:
  // Returns the rows of the log as it is now, read without a take-over.
  RowTable ColdRows() {
    RowTable rows;
    LogCopy copy(KeysOfTest(), [&]() -> ChangeSink& { return rows; });
    CatchUp(copy);
    EXPECT_TRUE(copy.End().ok());
    return rows;
  }

  void CatchUp(LogCopy& copy) {
    const auto read = [&](const etcd::Get& get) -> Result<etcd::RangeAnswer> {
      return client_->Range(get, 5s);
    };
    const auto beat = client_->Range({.key = KeysOfTest().beat}, 5s);
    const PinnedLog log{.revision = beat.revision,
                        .end = DecodeBeat(beat.found.front().value)->next_frame};
    EXPECT_TRUE(copy.CatchUp({.read = read}, log).ok());
  }

  // Each batch in a frame of its own.
  static void WriteOneByOne(Writing& writing, int batches, std::size_t owner_bytes = 20) {
    for (int i = 0; i < batches; ++i) {
      writing.Write(1, owner_bytes);
      writing.journal().AwaitWritten();
    }
  }

  // Takes over as another node, and compares the warm rows with those of a cold load.
  static void ExpectWarmIsCold(Warm& warm, Leader& next) {
    const auto end = warm.TakeOver(next);
    ASSERT_TRUE(end.ok()) << end.status().message();
    RowTable cold;
    const LogEnd cold_end = next.Load(cold);
    EXPECT_EQ(warm.rows(), cold.rows());
    EXPECT_EQ(end->log_id, cold_end.log_id);
    EXPECT_EQ(end->next_batch, cold_end.next_batch);
    EXPECT_EQ(end->checksum, cold_end.checksum);
    EXPECT_EQ(end->next_generation, cold_end.next_generation);
    EXPECT_EQ(end->batches, cold_end.batches);
    EXPECT_EQ(end->batch_bytes, cold_end.batch_bytes);
    EXPECT_EQ(end->slice_bytes, cold_end.slice_bytes);
  }

  etcd::EtcdServer etcd_;
  std::unique_ptr<etcd::EtcdClient> client_ = etcd::ClientOf(etcd_.options());
};

TEST_F(LogTailTest, ItFollowsALogFromBeforeItsBeginning) {
  Warm warm(etcd_.options());
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  writing.Write(50);
  writing.journal().AwaitWritten();
  EXPECT_TRUE(warm.AwaitSync(leader));
  EXPECT_EQ(warm.tail().loads(), 1U);
  writing.journal().Stop();
  Leader next(etcd_.options(), "b");
  ExpectWarmIsCold(warm, next);
  EXPECT_EQ(warm.rows().size(), 20U);
  EXPECT_EQ(warm.tail().loads(), 1U);
}

TEST_F(LogTailTest, ATakeOverBeforeTheFirstLoadReadsEverything) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  writing.Write(50);
  writing.journal().Stop();
  Warm warm(etcd_.options());
  Leader next(etcd_.options(), "b");
  ExpectWarmIsCold(warm, next);
  EXPECT_EQ(warm.tail().loads(), 1U);
}

// The snapshot describes the state that the standby has.
TEST_F(LogTailTest, ASnapshotCostsAStandbyThatFollowsNoLoad) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  writing.Write(30);
  writing.journal().AwaitWritten();
  Warm warm(etcd_.options());
  ASSERT_TRUE(warm.AwaitSync(leader));
  for (int snapshots = 0; snapshots < 3; ++snapshots) {
    writing.SnapshotAmongBatches(ColdRows(), true);
    writing.Write(10);
    writing.journal().AwaitWritten();
    ASSERT_TRUE(warm.AwaitSync(leader));
    EXPECT_TRUE(warm.tail().lag().is_following);
  }
  writing.journal().Stop();
  Leader next(etcd_.options(), "b");
  ExpectWarmIsCold(warm, next);
  EXPECT_EQ(warm.tail().loads(), 1U);
}

// A standby that was cut off while a snapshot was written continues if the snapshot left the last
// frame that it has, or nothing but later ones; otherwise it begins again.
TEST_F(LogTailTest, ASnapshotThatWasNotSeenIsReadOnlyIfFramesAreMissing) {
  for (const int batches_missed : {0, 1}) {
    RowTable rows;
    Leader leader(etcd_.options(), "a" + std::to_string(batches_missed));
    Writing writing(leader.store(), leader.Load(rows));
    writing.Write(10);
    writing.journal().AwaitWritten();
    RowTable copied;
    LogCopy copy(KeysOfTest(), [&]() -> ChangeSink& { return copied = RowTable(); });
    CatchUp(copy);
    WriteOneByOne(writing, batches_missed);
    writing.SnapshotAmongBatches(ColdRows(), true);
    writing.Write(10);
    writing.journal().AwaitWritten();
    CatchUp(copy);
    EXPECT_EQ(copied.rows(), ColdRows().rows());
    EXPECT_EQ(copy.begun(), batches_missed == 0 ? 1U : 2U);
    writing.journal().Stop();
  }
}

TEST_F(LogTailTest, ARestartOfEtcdCostsNoLoad) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  writing.Write(30);
  writing.journal().AwaitWritten();
  Warm warm(etcd_.options());
  ASSERT_TRUE(warm.AwaitSync(leader));
  etcd_.member(0).Kill();
  EXPECT_TRUE(Becomes([&] { return !warm.tail().lag().is_following; }));
  EXPECT_TRUE(Becomes([&] { return warm.tail().lag().ms > 0; }));
  etcd_.Restart();
  writing.Write(30);
  writing.journal().AwaitWritten();
  EXPECT_TRUE(warm.AwaitSync(leader));
  EXPECT_EQ(warm.tail().loads(), 1U);
  writing.journal().Stop();
  Leader next(etcd_.options(), "b");
  ExpectWarmIsCold(warm, next);
}

// The watch comes to the member that works only after it has failed at the other one.
TEST_F(LogTailTest, ItFollowsWhileTheFirstMemberIsDown) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  writing.Write(30);
  writing.journal().AwaitWritten();
  etcd::EtcdOptions options = etcd_.options();
  options.endpoints.insert(options.endpoints.begin(), {.address = "127.0.0.1:1"});
  Warm warm(options);
  EXPECT_TRUE(warm.AwaitSync(leader));
  writing.Write(30);
  writing.journal().AwaitWritten();
  EXPECT_TRUE(warm.AwaitSync(leader));
  writing.journal().Stop();
  Leader next(etcd_.options(), "b");
  ExpectWarmIsCold(warm, next);
}

// It has as many frames as the lost one, so no later batch has a checksum that does not follow. The
// copy is that of a standby that was cut off from etcd during the restore.
TEST_F(LogTailTest, ARestoredEtcdHasAnotherLog) {
  RowTable rows;
  std::optional<Leader> leader(std::in_place, etcd_.options(), "a");
  std::optional<Writing> writing(std::in_place, leader->store(), leader->Load(rows));
  WriteOneByOne(*writing, 5);
  etcd_.Backup();
  WriteOneByOne(*writing, 5);
  Warm warm(etcd_.options());
  ASSERT_TRUE(warm.AwaitSync(*leader));
  RowTable copied;
  LogCopy copy(KeysOfTest(), [&]() -> ChangeSink& { return copied = RowTable(); });
  CatchUp(copy);
  writing.reset();
  leader.reset();
  etcd_.RestoreBackup();
  leader.emplace(etcd_.options(), "b");
  RowTable restored;
  writing.emplace(leader->store(), leader->Load(restored));
  WriteOneByOne(*writing, 5, 30);
  EXPECT_TRUE(warm.AwaitSync(*leader));
  CatchUp(copy);
  EXPECT_EQ(copied.rows(), ColdRows().rows());
  EXPECT_EQ(copy.begun(), 2U);
  writing->journal().Stop();
  Leader next(etcd_.options(), "c");
  ExpectWarmIsCold(warm, next);
  EXPECT_EQ(warm.tail().loads(), 2U);
}

TEST_F(LogTailTest, AFrameThatWasDeletedIsDamageForBoth) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  for (int i = 0; i < 3; ++i) {
    writing.Write(1);
    writing.journal().AwaitWritten();
  }
  Warm warm(etcd_.options());
  ASSERT_TRUE(warm.AwaitSync(leader));
  etcd_.Ctl({"del", KeysOfTest().FrameKey(2)});
  ASSERT_TRUE(Becomes([&] { return !warm.tail().lag().is_following; }));
  Leader next(etcd_.options(), "b");
  const auto end = warm.TakeOver(next);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.status().code(), StatusCode::kDamaged);
  EXPECT_EQ(end.status().message(), "frame 2 is missing");
}

// A standby says why it does not follow, and follows again once a snapshot holds only known rows.
TEST_F(LogTailTest, ARowOfANewerVersionIsNoDamage) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  WriteOneByOne(writing, 2);
  Warm warm(etcd_.options());
  ASSERT_TRUE(warm.AwaitSync(leader));
  EXPECT_EQ(warm.tail().lag().unreadable, "");
  const RowTable known = ColdRows();
  RecordWriter newer;
  newer.Put(RowKind::kMeta, "\x7f", "from later");
  writing.journal().Append(newer);
  writing.journal().AwaitWritten();
  ASSERT_TRUE(Becomes([&] { return !warm.tail().lag().unreadable.empty(); }));
  EXPECT_FALSE(warm.tail().lag().is_following);
  EXPECT_EQ(warm.tail().lag().unreadable,
            "batch 3, change 1 of 1 has content that this program does not know; it was written by "
            "a newer version of fairlock");
  writing.Snapshot(known);
  writing.journal().AwaitWritten();
  EXPECT_TRUE(warm.AwaitSync(leader));
  EXPECT_EQ(warm.tail().lag().unreadable, "");
}

TEST_F(LogTailTest, ALeaderThatIsDeposedWhileItReadsStopsReading) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  writing.Write(3);
  writing.journal().Stop();
  Warm warm(etcd_.options());
  warm.tail().Stop();
  const auto end = warm.tail().Finish(
      {.revision = leader.committed().revision + 100, .end = 2},
      []() -> Result<std::int64_t> { return Status(StatusCode::kDeposed, "deposed"); });
  ASSERT_FALSE(end.ok());
}

// The leaders of other partitions discard the history of the etcd that they share.
TEST_F(LogTailTest, ALeaderReadsOnWhenTheHistoryOfItsTakeOverIsGone) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  writing.Write(3);
  writing.journal().Stop();
  Warm warm(etcd_.options());
  warm.tail().Stop();
  Leader next(etcd_.options(), "b");
  const std::int64_t taken_over_at = next.committed().revision;
  next.store().BeginBeats(20ms);
  ASSERT_TRUE(Becomes([&] { return next.store().newest_write().value() > taken_over_at; }));
  ASSERT_EQ(leader.client().Compact(next.store().newest_write().value(), 5s).outcome,
            etcd::Outcome::kDone);
  const PinnedLog pinned{.revision = leader.committed().revision,
                         .end = leader.committed().beat.next_frame};
  const auto end = warm.tail().Finish(pinned, [&next] { return next.store().newest_write(); });
  ASSERT_TRUE(end.ok()) << end.status().message();
  EXPECT_EQ(warm.rows(), ColdRows().rows());
}

TEST_F(LogTailTest, ALeaderThatNoLongerBeatsIsDeposedWhenTheHistoryOfItsTakeOverIsGone) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  writing.Write(3);
  writing.journal().Stop();
  Warm warm(etcd_.options());
  warm.tail().Stop();
  const std::int64_t taken_over_at = leader.committed().revision;
  ASSERT_TRUE(leader.store().Append({}, Durability::kProcess).ok());
  ASSERT_EQ(leader.client().Compact(leader.committed().revision, 5s).outcome, etcd::Outcome::kDone);
  const auto end = warm.tail().Finish({.revision = taken_over_at, .end = 2},
                                      [=] { return Result(taken_over_at); });
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.status().code(), StatusCode::kDeposed);
}

// Does the following in random order: writes batches and groups of many frames, takes snapshots and
// leaves some unfinished, leaves groups unfinished, changes leaders, and compacts etcd.
class History {
 public:
  History(const etcd::EtcdOptions& options, unsigned seed) : options_(options), random_(seed) {
    Lead();
  }

  template <typename ColdRows>
  void Step(ColdRows cold_rows) {
    switch (random_() % 8) {
      case 0:
        writing_->SnapshotAmongBatches(cold_rows(), random_() % 4 != 0);
        break;
      case 1:
        Lead();
        break;
      case 2:
        writing_->Write(2, 3'000);  // takes several frames
        break;
      case 3:
        LeaveGroupOpen();
        break;
      case 4:
        leader_->client().Compact(leader_->committed().revision, 2s);
        break;
      default:
        writing_->Write(1 + static_cast<int>(random_() % 20));
    }
    writing_->journal().AwaitWritten();
    ASSERT_FALSE(writing_->journal().Look().has_failed);
  }

  void Stop() { writing_->journal().Stop(); }

 private:
  void Lead() {
    if (writing_) Stop();
    writing_.reset();
    leader_.emplace(options_, "leader",
                    ReplicatedStoreOptions{.frame_bytes_max = 500, .compact_every = 25});
    RowTable rows;
    writing_.emplace(leader_->store(), leader_->Load(rows));
  }

  // The leader disappears after the first frame of a group.
  void LeaveGroupOpen() {
    Stop();
    std::string group;
    AppendRecord(group, {.number = 1'000'000, .bytes = std::string(100, 'x')});
    leader_->writer().Write({.frames = {FramesOf(group, 30).front()}});
    const auto answer = leader_->client().Transact(leader_->writer().txn(), 2s);
    ASSERT_EQ(leader_->writer().Take(answer), FrameWriter::Progress::kCommitted);
    writing_.reset();
    Lead();
  }

  const etcd::EtcdOptions options_;
  std::mt19937 random_;
  std::optional<Leader> leader_;
  std::optional<Writing> writing_;
};

TEST_F(LogTailTest, WarmIsColdAfterRandomHistories) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History history(etcd_.options(), seed);
    Warm warm(etcd_.options());
    for (int i = 0; i < 12; ++i) history.Step([this] { return ColdRows(); });
    history.Stop();
    Leader next(etcd_.options(), "next");
    ExpectWarmIsCold(warm, next);
    if (HasFailure()) return;
  }
}

TEST(LogTailOnACluster, CompactionWhileItsMemberIsAwayMakesItReadOn) {
  etcd::EtcdServer etcd(3);
  etcd::EtcdOptions own = etcd.options();
  own.endpoints.resize(1);
  etcd::EtcdOptions others = etcd.options();
  others.endpoints.erase(others.endpoints.begin());
  RowTable rows;
  Leader leader(others, "a");
  Writing writing(leader.store(), leader.Load(rows));
  writing.Write(10);
  writing.journal().AwaitWritten();
  Warm warm(own);
  ASSERT_TRUE(warm.AwaitSync(leader));
  etcd.member(0).Kill();
  writing.Write(10);
  writing.journal().AwaitWritten();
  ASSERT_EQ(leader.client().Compact(leader.committed().revision, 5s).outcome, etcd::Outcome::kDone);
  etcd.Restart(0);
  EXPECT_TRUE(warm.AwaitSync(leader));
  // What the tail had was still the beginning of the log, so it was not loaded again.
  EXPECT_EQ(warm.tail().loads(), 1U);
  writing.journal().Stop();
  Leader next(etcd.options(), "b");
  const auto end = warm.TakeOver(next);
  ASSERT_TRUE(end.ok()) << end.status().message();
  EXPECT_EQ(end->next_batch, 21U);
}

}  // namespace
}  // namespace fairlock::storage::replicated
