// An import that was interrupted is refused by nodes, and replaced by the next import.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "storage/replicated/check_log.h"
#include "storage/replicated/fleet_record.h"
#include "storage/replicated/new_log.h"
#include "tests/unit/storage/etcd/etcd_server.h"
#include "tests/unit/storage/etcd/etcd_test_support.h"
#include "tests/unit/storage/replicated/replicated_test_support.h"

namespace fairlock::storage::replicated {
namespace {

// The rows of this many holds.
RowTable RowsOf(int holds, std::size_t owner_bytes) {
  RecordWriter batch;
  const std::string owner(owner_bytes, 'o');
  for (int i = 0; i < holds; ++i) {
    const std::string key = "key" + std::to_string(i);
    rows::Hold row{.id = {.token = static_cast<std::uint64_t>(i) + 1, .key = key}};
    row.claim.owner = owner;
    PutRow(batch, row);
  }
  const std::string bytes(batch.Seal(RecordKind::kBatch, 1, 0));
  auto reader = RecordReader::Open(bytes, RecordKind::kBatch, 1, 0);
  EXPECT_TRUE(reader.ok());
  RowTable table;
  for (Change change; reader->Next(change);) table.Apply(change);
  return table;
}

PartitionKeys KeysOfImport() { return PartitionKeys(PartitionPrefix(FleetPrefix("t"), 0)); }

class ImportLogTest : public testing::Test {
 protected:
  ClusterOptions Options() const {
    ClusterOptions options;
    options.etcd = etcd_.options();
    options.fleet = "t";
    options.node = "a";
    options.now_ms = NowMs;
    return options;
  }

  // Starts a node; the sink receives the rows that it loads.
  Status Lead(RowTable& rows) const {
    const auto home = std::move(ClusterHome::Open(Options()).value());
    home->UsePartition(0);
    Status status = home->AwaitLeadership([&rows]() -> ChangeSink& { return rows = RowTable(); });
    if (status.ok()) status = home->HandOver("");
    return status;
  }

  void ExpectIsRefused() const {
    RowTable none;
    EXPECT_EQ(Lead(none).message(), ImportNotEnded().message());
    EXPECT_EQ(CheckLog(Options()).status().message(), ImportNotEnded().message());
  }

  // Imports again, and starts a node.
  void ExpectCanBeRepeated(const RowTable& rows) const {
    const Status status = ImportLog(Options(), rows);
    ASSERT_TRUE(status.ok()) << status.message();
    RowTable loaded;
    const Status led = Lead(loaded);
    ASSERT_TRUE(led.ok()) << led.message();
    EXPECT_EQ(loaded.rows(), rows.rows());
    EXPECT_EQ(ImportLog(Options(), rows).code(), StatusCode::kRefused);
  }

  etcd::EtcdServer etcd_;
};

TEST_F(ImportLogTest, OneThatEndedAfterItsFirstWriteIsRefused) {
  const auto client = etcd::ClientOf(etcd_.options());
  FrameWriter writer(KeysOfImport(), NewRunId(), "a");
  writer.TakeOver({}, 0, Beat::State::kImporting);
  ASSERT_EQ(writer.Take(client->Transact(writer.txn(), 5s)), FrameWriter::Progress::kCommitted);
  ExpectIsRefused();
  ExpectCanBeRepeated(RowsOf(100, 10));
  // The interrupted one, if it still ran, could write nothing.
  writer.Write({.frames = {"late"}});
  EXPECT_EQ(writer.Take(client->Transact(writer.txn(), 5s)), FrameWriter::Progress::kDeposed);
}

TEST_F(ImportLogTest, OneThatLostEtcdInTheMiddleIsRefused) {
  const RowTable rows = RowsOf(20'000, 1'000);
  const std::string third_frame = KeysOfImport().FrameKey(3);
  std::thread outage([&] {
    const auto client = etcd::ClientOf(etcd_.options());
    while (client->Range({.key = third_frame, .range_end = {}}, 5s).found.empty()) {
      std::this_thread::sleep_for(1ms);
    }
    etcd_.member(0).Kill();
  });
  const Status status = ImportLog(Options(), rows);
  outage.join();
  EXPECT_EQ(status.code(), StatusCode::kDeposed) << status.message();
  etcd_.Restart();
  ExpectIsRefused();
  ExpectCanBeRepeated(rows);
}

// All rows are written, but the import has not said so.
TEST_F(ImportLogTest, OneThatDidNotHandOverIsRefused) {
  const auto client = etcd::ClientOf(etcd_.options());
  FrameWriter writer(KeysOfImport(), NewRunId(), "a");
  writer.TakeOver({}, 0, Beat::State::kImporting);
  ASSERT_EQ(writer.Take(client->Transact(writer.txn(), 5s)), FrameWriter::Progress::kCommitted);
  ReplicatedStore store(*client, writer, {.compact_every = 0});
  ASSERT_TRUE(BeginLog(store, kLogId).ok());
  ExpectIsRefused();
  ExpectCanBeRepeated(RowsOf(0, 0));
}

}  // namespace
}  // namespace fairlock::storage::replicated
