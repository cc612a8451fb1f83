// What a copy refuses, and what it leaves if it does not end. tests/integration/copy_fleet_test.py
// copies real locks.
#include "storage/replicated/copy_fleet.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/replicated/fleet_record.h"
#include "storage/replicated/new_log.h"
#include "tests/unit/storage/etcd/etcd_server.h"
#include "tests/unit/storage/etcd/etcd_test_support.h"
#include "tests/unit/storage/replicated/replicated_test_support.h"

namespace fairlock::storage::replicated {
namespace {

constexpr std::uint32_t kCopyPartitions = 3;
constexpr std::uint64_t kCeiling = 5'000;

RowTable SourceRows(int holds) {
  RecordWriter batch;
  for (int i = 0; i < holds; ++i) {
    const std::string key = "key" + std::to_string(i);
    rows::Hold row{.id = {.token = static_cast<std::uint64_t>(i) + 1, .key = key}};
    row.claim.owner = "owner";
    PutRow(batch, row);
  }
  PutRow(batch, MetaRow{.name = MetaName::kTokenCeiling, .number = kCeiling});
  const std::string bytes(batch.Seal(RecordKind::kBatch, 1, 0));
  auto reader = RecordReader::Open(bytes, RecordKind::kBatch, 1, 0);
  RowTable table;
  for (Change change; reader->Next(change);) table.Apply(change);
  return table;
}

class CopyFleetTest : public testing::Test {
 protected:
  CopyFleetTest() : client_(etcd::ClientOf(etcd_.options())) {}

  ClusterOptions NodeOf(const std::string& fleet, const std::string& node = "a") const {
    ClusterOptions options;
    options.etcd = etcd_.options();
    options.fleet = fleet;
    options.node = node;
    options.now_ms = NowMs;
    return options;
  }
  void FillSource(int holds) const {
    const Status status = ImportLog(NodeOf("old"), SourceRows(holds));
    ASSERT_TRUE(status.ok()) << status.message();
  }
  CopyFleetOptions Options() const {
    CopyFleetOptions options;
    options.source_etcd = options.etcd = etcd_.options();
    options.source = "old";
    options.fleet = "new";
    options.node = "copy";
    options.repartition = {
        .partitions = kCopyPartitions,
        .slot_of = [](std::string_view key) { return static_cast<std::uint16_t>(key.back()); },
        .partition_of = [](std::uint16_t slot) { return slot % kCopyPartitions; }};
    options.patience = 500ms;
    options.silence = 200ms;
    return options;
  }
  // Takes over the partition; returns the keys of its holds.
  std::vector<std::string> Lead(const std::string& fleet, std::uint32_t partition) const {
    RowTable rows;
    const auto home = std::move(ClusterHome::Open(NodeOf(fleet)).value());
    home->UsePartition(partition);
    Status status = home->AwaitLeadership([&rows]() -> ChangeSink& { return rows = RowTable(); });
    EXPECT_TRUE(status.ok()) << status.message();
    if (status.ok()) status = home->HandOver("");
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<std::string> keys;
    for (const auto& [name, value] : rows.rows()) {
      rows::Hold hold;
      MetaRow meta;
      if (name.first == RowKind::kHold && DecodeRow(name.second, value, hold)) {
        keys.emplace_back(hold.id.key);
      } else if (DecodeRow(name.second, value, meta) && meta.name == MetaName::kTokenCeiling) {
        EXPECT_EQ(meta.number, kCeiling);
      }
    }
    return keys;
  }
  void ExpectIsCopied(int holds) const {
    int found = 0;
    for (std::uint32_t partition = 0; partition < kCopyPartitions; ++partition) {
      for (const std::string& key : Lead("new", partition)) {
        EXPECT_EQ(static_cast<std::uint32_t>(key.back()) % kCopyPartitions, partition) << key;
        ++found;
      }
    }
    EXPECT_EQ(found, holds);
  }
  bool Exists(const std::string& key) const {
    return !client_->Range({.key = key, .range_end = {}}, 5s).found.empty();
  }
  void ExpectIsRefused(const std::string& why) const { ExpectIsRefused(why, Options()); }
  void ExpectIsRefused(const std::string& why, const CopyFleetOptions& options) const {
    const auto copy = CopyFleet(options);
    EXPECT_EQ(copy.status().code(), StatusCode::kRefused);
    EXPECT_NE(copy.status().message().find(why), std::string::npos) << copy.status().message();
    EXPECT_FALSE(Exists("/fairlock/new/fleet"));
  }

  etcd::EtcdServer etcd_;
  std::unique_ptr<etcd::EtcdClient> client_;
};

TEST_F(CopyFleetTest, EveryPartitionHasItsKeysAndCanBeLed) {
  FillSource(3'000);
  const auto copy = CopyFleet(Options());
  ASSERT_TRUE(copy.ok()) << copy.status().message();
  EXPECT_EQ(copy->source_partitions, 1);
  EXPECT_EQ(copy->counts.holds, 3'000);
  const auto fleet = ReadFleet(*client_, FleetPrefix("new"), 5s);
  ASSERT_TRUE(fleet.ok());
  EXPECT_EQ(fleet->partitions, kCopyPartitions);
  ExpectIsCopied(3'000);
  const auto again = CopyFleet(Options());
  EXPECT_EQ(again.status().message(), "the fleet new exists already; choose another cluster_name");
  // The source is as it was.
  EXPECT_EQ(Lead("old", 0).size(), 3'000);
}

TEST_F(CopyFleetTest, AFleetThatIsCreatedMeanwhileIsNotTouched) {
  FillSource(10);
  CopyFleetOptions options = Options();
  // Called while the copy reads the source.
  options.repartition.slot_of = [&](std::string_view) {
    const auto made = CreateOrReadFleet(*client_, FleetPrefix("new"), {.partitions = 2}, 5s);
    EXPECT_TRUE(made.ok());
    return std::uint16_t{0};
  };
  EXPECT_EQ(CopyFleet(options).status().code(), StatusCode::kRefused);
  EXPECT_EQ(ReadFleet(*client_, FleetPrefix("new"), 5s)->partitions, 2);
}

TEST_F(CopyFleetTest, ASourceThatDoesNotExistIsRefused) { ExpectIsRefused("does not exist"); }

TEST_F(CopyFleetTest, ASourceWithANodeIsRefused) {
  FillSource(10);
  etcd::Set(*client_, "/fairlock/old/n/n7", "{}");
  ExpectIsRefused("node n7 of the fleet old runs; stop all its nodes first");
}

TEST_F(CopyFleetTest, ASourceWhoseRegisterChangesIsRefused) {
  FillSource(10);
  const auto home = std::move(ClusterHome::Open(NodeOf("old", "n8")).value());
  home->UsePartition(0);
  RowTable rows;
  ASSERT_TRUE(home->AwaitLeadership([&rows]() -> ChangeSink& { return rows; }).ok());
  // AwaitLeadership has begun to write beats several times a second.
  CopyFleetOptions options = Options();
  options.silence = 1s;
  ExpectIsRefused("node n8 of the fleet old leads; stop all its nodes first", options);
  ASSERT_TRUE(home->HandOver("").ok());
  ASSERT_TRUE(CopyFleet(Options()).ok());
}

// Nothing shows that a paused leader exists, but it must not write after the copy.
TEST_F(CopyFleetTest, APausedLeaderOfTheSourceIsDeposed) {
  FillSource(10);
  const PartitionKeys keys(PartitionPrefix(FleetPrefix("old"), 0));
  const auto found = client_->Range({.key = keys.beat, .range_end = {}}, 5s).found.front();
  FrameWriter paused(keys, NewRunId(), "paused");
  paused.TakeOver({found.mod_revision, found.value, DecodeBeat(found.value).value()});
  ASSERT_EQ(paused.Take(client_->Transact(paused.txn(), 5s)), FrameWriter::Progress::kCommitted);
  ASSERT_TRUE(CopyFleet(Options()).ok());
  paused.Write({});
  EXPECT_EQ(paused.Take(client_->Transact(paused.txn(), 5s)), FrameWriter::Progress::kDeposed);
}

TEST_F(CopyFleetTest, ANodeOfTheSourceThatStartsMeanwhileStopsTheCopy) {
  FillSource(10);
  CopyFleetOptions options = Options();
  bool is_started = false;
  options.repartition.slot_of = [&](std::string_view key) {
    if (!std::exchange(is_started, true)) Lead("old", 0);
    return static_cast<std::uint16_t>(key.back());
  };
  const auto copy = CopyFleet(options);
  EXPECT_EQ(copy.status().message(), "node a of the fleet old leads; stop all its nodes first");
  EXPECT_FALSE(Exists("/fairlock/new/fleet"));
  ASSERT_TRUE(CopyFleet(Options()).ok()) << "it can be repeated";
  ExpectIsCopied(10);
}

// etcd limits the size of a transaction.
TEST_F(CopyFleetTest, AFleetMayHaveTheMostPartitions) {
  FillSource(1'000);
  CopyFleetOptions options = Options();
  options.repartition.partitions = FleetRecord::kPartitionsMax;
  options.repartition.partition_of = [](std::uint16_t slot) {
    return slot % FleetRecord::kPartitionsMax;
  };
  const auto copy = CopyFleet(options);
  ASSERT_TRUE(copy.ok()) << copy.status().message();
  EXPECT_EQ(Lead("new", '7' % FleetRecord::kPartitionsMax).size(), 100);
}

// The interrupted copy had more partitions, and has written something to each.
TEST_F(CopyFleetTest, AnInterruptedCopyIsReplaced) {
  FillSource(100);
  for (std::uint32_t partition = 0; partition < 5; ++partition) {
    NewLog log(*client_, PartitionKeys(PartitionPrefix(FleetPrefix("new"), partition)), "x", "");
    ASSERT_TRUE(log.Begin().ok());
    ASSERT_TRUE(log.Write(SourceRows(50)).ok());
  }
  const auto copy = CopyFleet(Options());
  ASSERT_TRUE(copy.ok()) << copy.status().message();
  EXPECT_FALSE(Exists("/fairlock/new/p/03/beat"));
  EXPECT_FALSE(Exists("/fairlock/new/p/04/h"));
  ExpectIsCopied(100);
}

TEST_F(CopyFleetTest, KeysOfAnotherLogAreNotDeleted) {
  FillSource(10);
  etcd::Set(*client_, "/fairlock/new/p/02/h", "a heading");
  ExpectIsRefused("etcd already has the key /fairlock/new/p/02/h");
  EXPECT_TRUE(Exists("/fairlock/new/p/02/h"));
}

}  // namespace
}  // namespace fairlock::storage::replicated
