#include "storage/replicated/replicated_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tests/unit/storage/etcd/etcd_server.h"
#include "tests/unit/storage/replicated/replicated_test_support.h"

namespace fairlock::storage::replicated {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

std::size_t FramesIn(const etcd::EtcdServer& etcd) {
  const std::string keys = etcd.Ctl({"get", "--prefix", "/fairlock/t/p/00/f/", "--keys-only"});
  std::size_t count = 0;
  for (std::size_t at = keys.find("/f/"); at != std::string::npos; at = keys.find("/f/", at + 1)) {
    ++count;
  }
  return count;
}

class ReplicatedStoreTest : public testing::Test {
 protected:
  // Returns the rows that the next leader loads.
  std::map<RowTable::Name, std::string> Reload() {
    RowTable rows;
    Leader next(etcd_.options(), "next");
    next.Load(rows);
    return rows.rows();
  }

  etcd::EtcdServer etcd_;
};

TEST_F(ReplicatedStoreTest, TheNextLeaderLoadsWhatWasAcknowledged) {
  std::map<RowTable::Name, std::string> before;
  for (const char* node : {"a", "b", "c"}) {
    RowTable rows;
    Leader leader(etcd_.options(), node);
    const LogEnd end = leader.Load(rows);
    EXPECT_EQ(rows.rows(), before) << node;
    Writing writing(leader.store(), end);
    writing.Write(100);
    writing.journal().Stop();
    ASSERT_FALSE(writing.journal().Look().has_failed) << writing.journal().failure().message();
    before = Reload();
    EXPECT_EQ(before.size(), 20U);
  }
}

TEST_F(ReplicatedStoreTest, ASnapshotReplacesTheFramesBeforeIt) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  for (int i = 0; i < 50; ++i) {
    writing.Write(1);
    writing.journal().AwaitWritten();
  }
  EXPECT_EQ(FramesIn(etcd_), 50U);
  // The journal's batches are sealed in order, so this is the state from before the snapshot.
  const auto state = Reload();
  RowTable table;
  Leader next(etcd_.options(), "b");
  Writing continued(next.store(), next.Load(table));
  EXPECT_EQ(table.rows(), state);
  continued.Snapshot(table);
  continued.Write(10);
  continued.journal().Stop();
  ASSERT_FALSE(continued.journal().Look().has_failed);
  EXPECT_LT(FramesIn(etcd_), 35U);
  RowTable reloaded;
  Leader last(etcd_.options(), "c");
  const LogEnd end = last.Load(reloaded);
  EXPECT_EQ(end.batches, 10U);
  EXPECT_EQ(end.next_batch, 61U);
}

TEST_F(ReplicatedStoreTest, ADeposedLeaderFailsAndWritesNothing) {
  RowTable rows;
  Leader old(etcd_.options(), "a");
  Writing writing(old.store(), old.Load(rows));
  writing.Write(5);
  writing.journal().AwaitWritten();
  const auto before = Reload();
  writing.Write(1);
  writing.journal().AwaitWritten();
  EXPECT_TRUE(writing.journal().Look().has_failed);
  EXPECT_EQ(writing.journal().failure().code(), StatusCode::kDeposed);
  EXPECT_EQ(writing.journal().failure().message(), "node next leads, epoch 2");
  EXPECT_EQ(Reload(), before);
}

TEST_F(ReplicatedStoreTest, AnAppendOfNothingConfirmsTheLeadership) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  leader.Load(rows);
  const SeenBeat before = leader.writer().committed();
  EXPECT_TRUE(leader.store().Append({}, Durability::kProcess).ok());
  EXPECT_EQ(leader.writer().committed().beat.sequence, before.beat.sequence + 1);
  EXPECT_EQ(leader.writer().committed().beat.next_frame, before.beat.next_frame);
  const Leader other(etcd_.options(), "b");
  EXPECT_EQ(leader.store().Append({}, Durability::kProcess).code(), StatusCode::kDeposed);
}

TEST_F(ReplicatedStoreTest, ABatchThatIsLargerThanAFrameIsCut) {
  RowTable rows;
  Leader leader(etcd_.options(), "a", {.frame_bytes_max = 500, .compact_every = 0});
  Writing writing(leader.store(), leader.Load(rows));
  writing.Write(3, 2'000);
  writing.journal().Stop();
  ASSERT_FALSE(writing.journal().Look().has_failed);
  EXPECT_GT(FramesIn(etcd_), 10U);
  EXPECT_EQ(Reload().size(), 3U);
}

TEST_F(ReplicatedStoreTest, AnAppendThatNoNodeWouldReadIsNotWritten) {
  RowTable rows;
  Leader leader(etcd_.options(), "a",
                {.frame_bytes_max = 500, .group_bytes_max = 1'000, .compact_every = 0});
  Writing writing(leader.store(), leader.Load(rows));
  writing.Write(1, 2'000);
  writing.journal().Stop();
  EXPECT_EQ(writing.journal().failure().code(), StatusCode::kFailed);
  EXPECT_EQ(FramesIn(etcd_), 0U);
}

TEST_F(ReplicatedStoreTest, FramesOfAGroupThatIsNotCompleteAreDropped) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  writing.Write(3);
  writing.journal().Stop();
  const auto before = Reload();
  {
    // Here a leader dies after the first of its frames.
    RowTable table;
    Leader dying(etcd_.options(), "b");
    const LogEnd end = dying.Load(table);
    RecordWriter batch;
    PutRow(batch, rows::Hold{.id = {.token = 9, .key = "lost"}, .claim = {.owner = "o"}});
    std::string group;
    AppendRecord(group, {.number = end.next_batch,
                         .bytes = batch.Seal(RecordKind::kBatch, end.next_batch, end.checksum)});
    dying.writer().Write({.frames = {FramesOf(group, 30).front()}});
    ASSERT_EQ(dying.writer().Take(dying.client().Transact(dying.writer().txn(), 2s)),
              FrameWriter::Progress::kCommitted);
  }
  EXPECT_EQ(Reload(), before);
  RowTable table;
  Leader next(etcd_.options(), "c");
  Writing continued(next.store(), next.Load(table));
  EXPECT_EQ(continued.journal().open_batch(), 4U);
  continued.Write(1);
  continued.journal().Stop();
  EXPECT_EQ(Reload().size(), before.size() + 1);
}

TEST_F(ReplicatedStoreTest, ALeaderBeatsWhileItLoads) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  for (int i = 0; i < 2 + 4 + 8; ++i) {
    writing.Write(1);
    writing.journal().AwaitWritten();
  }
  writing.journal().Stop();
  Leader next(etcd_.options(), "b", {.compact_every = 0, .frames_per_read = 2});
  const std::uint64_t sequence = next.writer().committed().beat.sequence;
  RowTable table;
  ASSERT_TRUE(LoadLog(next.store(), table).ok());
  // Pages of small frames become larger.
  EXPECT_EQ(next.writer().committed().beat.sequence, sequence + 3);
  EXPECT_EQ(table.rows().size(), 2U + 4U + 8U);
}

TEST_F(ReplicatedStoreTest, ALeaderDiscardsNoHistoryWhileItLoads) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  for (int i = 0; i < 6; ++i) {
    writing.Write(1);
    writing.journal().AwaitWritten();
  }
  writing.journal().Stop();
  // The first beat of this leader already exceeds compact_every, counted from revision 0.
  Leader next(etcd_.options(), "b", {.compact_every = 1, .frames_per_read = 1});
  const std::int64_t loaded_at = next.committed().revision;
  RowTable table;
  const auto end = LoadLog(next.store(), table);
  ASSERT_TRUE(end.ok()) << end.status().message();
  EXPECT_EQ(table.rows().size(), 6U);
  const etcd::Get then{.key = next.writer().keys().beat, .range_end = {}, .revision = loaded_at};
  EXPECT_EQ(next.client().Range(then, 5s).outcome, etcd::Outcome::kDone);
  EXPECT_TRUE(next.store().Append({}, Durability::kMachine).ok());
  EXPECT_EQ(next.client().Range(then, 5s).outcome, etcd::Outcome::kCompacted);
}

// The leaders of other partitions discard the history of the etcd that they share.
TEST_F(ReplicatedStoreTest, ALeaderLoadsAtANewBeatWhenTheHistoryOfItsTakeOverIsGone) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  writing.Write(1);
  writing.journal().Stop();
  Leader next(etcd_.options(), "b");
  etcd_.Ctl({"put", "other", "x"});
  const auto answer = next.client().Range({.key = "other", .range_end = {}}, 5s);
  ASSERT_EQ(next.client().Compact(answer.revision, 5s).outcome, etcd::Outcome::kDone);
  const auto has_heading = next.store().HasHeading();
  ASSERT_TRUE(has_heading.ok()) << has_heading.status().message();
  EXPECT_TRUE(has_heading.value());
  RowTable table;
  const auto end = LoadLog(next.store(), table);
  ASSERT_TRUE(end.ok()) << end.status().message();
  EXPECT_EQ(table.rows().size(), 1U);
}

TEST_F(ReplicatedStoreTest, BeatsEndWithTheFirstAppend) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  leader.Load(rows);
  const std::uint64_t sequence = leader.committed().beat.sequence;
  leader.store().BeginBeats(20ms);
  std::this_thread::sleep_for(500ms);
  ASSERT_TRUE(leader.store().Append({}, Durability::kProcess).ok());
  const std::uint64_t beaten = leader.committed().beat.sequence;
  EXPECT_GE(beaten, sequence + 5);
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(leader.committed().beat.sequence, beaten);
}

TEST_F(ReplicatedStoreTest, ALeaderThatIsDeposedWhileItBeatsLearnsOfIt) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  leader.Load(rows);
  leader.store().BeginBeats(20ms);
  EXPECT_TRUE(leader.store().newest_write().ok());
  Leader next(etcd_.options(), "b");
  for (int i = 0; i < 500 && leader.store().newest_write().ok(); ++i) {
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(leader.store().newest_write().status().code(), StatusCode::kDeposed);
  EXPECT_EQ(leader.store().Append({}, Durability::kProcess).code(), StatusCode::kDeposed);
}

TEST_F(ReplicatedStoreTest, ALeaderThatIsDeposedWhileItLoadsLearnsOfIt) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  for (int i = 0; i < 6; ++i) {
    writing.Write(1);
    writing.journal().AwaitWritten();
  }
  writing.journal().Stop();
  RowTable table;
  const auto before = Reload();
  Leader slow(etcd_.options(), "b", {.compact_every = 0, .frames_per_read = 1});
  const Leader other(etcd_.options(), "c");
  const auto end = LoadLog(slow.store(), table);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.status().code(), StatusCode::kDeposed);
  EXPECT_EQ(Reload(), before);
}

TEST_F(ReplicatedStoreTest, ALogThatTheNextLeaderBeganIsNotThatOfADeposedOne) {
  Leader deposed(etcd_.options(), "a");
  Leader next(etcd_.options(), "b");
  ASSERT_TRUE(BeginLog(next.store(), kLogId).ok());
  const auto has_heading = deposed.store().HasHeading();
  ASSERT_TRUE(has_heading.ok());
  EXPECT_FALSE(has_heading.value());
  EXPECT_EQ(BeginLog(deposed.store(), kLogId).code(), StatusCode::kDeposed);
  RowTable rows;
  EXPECT_TRUE(LoadLog(next.store(), rows).ok());
}

TEST_F(ReplicatedStoreTest, ALostFrameIsDamage) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  for (int i = 0; i < 3; ++i) {
    writing.Write(1);
    writing.journal().AwaitWritten();
  }
  etcd_.Ctl({"del", leader.writer().keys().FrameKey(2)});
  Leader next(etcd_.options(), "b");
  RowTable table;
  const auto end = LoadLog(next.store(), table);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.status().code(), StatusCode::kDamaged);
  EXPECT_EQ(end.status().message(), "frame 2 is missing");
}

TEST_F(ReplicatedStoreTest, HistoryIsDiscardedAsItGrows) {
  RowTable rows;
  Leader leader(etcd_.options(), "a", {.compact_every = 20});
  Writing writing(leader.store(), leader.Load(rows));
  const std::int64_t first = leader.writer().committed().revision;
  for (int i = 0; i < 60; ++i) {
    writing.Write(1);
    writing.journal().AwaitWritten();
  }
  const auto old = leader.client().Range(
      {.key = leader.writer().keys().beat, .range_end = {}, .revision = first}, 2s);
  EXPECT_EQ(old.outcome, etcd::Outcome::kCompacted) << old.message;
  EXPECT_EQ(Reload().size(), 20U);
}

TEST_F(ReplicatedStoreTest, AWriteOutlivesARestartOfEtcd) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  writing.Write(5);
  writing.journal().AwaitWritten();
  etcd_.member(0).Kill();
  writing.Write(5);
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(writing.journal().Look().completed_batch, 5U);
  etcd_.member(0).Start();
  etcd_.AwaitLeader(0);
  writing.journal().AwaitWritten();
  EXPECT_EQ(writing.journal().Look().completed_batch, 10U);
  EXPECT_FALSE(leader.store().LastError().empty());
  EXPECT_EQ(Reload().size(), 10U);
}

TEST_F(ReplicatedStoreTest, AnAbandonedWriteEnds) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  Writing writing(leader.store(), leader.Load(rows));
  etcd_.member(0).Kill();
  writing.Write(1);
  std::this_thread::sleep_for(100ms);
  leader.store().LimitAttempts(1);
  writing.journal().AwaitWritten();
  EXPECT_EQ(writing.journal().failure().code(), StatusCode::kDeposed);
}

TEST_F(ReplicatedStoreTest, AHandOverNamesTheSuccessorAndIsTheLastWrite) {
  RowTable rows;
  Leader leader(etcd_.options(), "a");
  leader.Load(rows);
  ASSERT_TRUE(leader.store().HandOver("b").ok());
  Leader next(etcd_.options(), "b");
  EXPECT_EQ(next.writer().committed().beat.epoch, 2U);
  EXPECT_EQ(next.writer().committed().beat.state, Beat::State::kLeading);
  EXPECT_TRUE(next.writer().committed().beat.successor.empty());
}

// An etcd with three members, whose current leader is killed repeatedly while leaders of the
// partition depose one another. Whatever a journal reported as complete is there afterwards.
TEST(ReplicatedStoreFaults, NothingAcknowledgedIsLost) {
  etcd::EtcdServer etcd(3);
  std::uint64_t acknowledged = 0;
  std::uint64_t loaded = 0;
  for (int round = 0; round < 12; ++round) {
    Leader leader(etcd.options(), "node" + std::to_string(round));
    RowTable rows;
    const LogEnd end = leader.Load(rows);
    loaded = end.next_batch - 1;
    ASSERT_GE(loaded, acknowledged) << "round " << round;
    Writing writing(leader.store(), end);
    const std::size_t victim = static_cast<std::size_t>(round) % 3;
    writing.Write(20);
    if (round % 2 == 0) etcd.member(victim).Kill();
    writing.Write(20);
    writing.journal().AwaitWritten();
    ASSERT_FALSE(writing.journal().Look().has_failed) << writing.journal().failure().message();
    acknowledged = writing.journal().Look().completed_batch;
    EXPECT_EQ(acknowledged, loaded + 40);
    if (round % 2 == 0) {
      etcd.member(victim).Start();
      etcd.AwaitLeader(victim);
    }
  }
}

}  // namespace
}  // namespace fairlock::storage::replicated
