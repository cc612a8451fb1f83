#include "storage/log/store.h"

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/log/load_log.h"
#include "storage/records/rows.h"
#include "tests/doubles/faulty_store.h"
#include "tests/doubles/memory_store.h"
#include "tests/unit/storage/storage_test_support.h"

namespace fairlock::storage {
namespace {

using testing::HasSubstr;

constexpr LogId kHandLogId = {'t', 'e', 's', 't'};

// Appends sealed batches by hand, each with one row "r<number>".
class HandWriter {
 public:
  explicit HandWriter(Store& store) : store_(store) {
    EXPECT_TRUE(BeginLog(store, kHandLogId).ok());
  }

  Status AppendBatch(Durability durability = Durability::kProcess) {
    writer_.Clear();
    writer_.Put(RowKind::kMeta, "\x01", std::string("\x01\x00", 2));
    PutRow(writer_, PlainHold("r" + std::to_string(next_), next_));
    const StoredRecord record{.number = next_,
                              .bytes = writer_.Seal(RecordKind::kBatch, next_, checksum_)};
    checksum_ = writer_.checksum();
    ++next_;
    return store_.Append({&record, 1}, durability);
  }

 private:
  Store& store_;
  RecordWriter writer_;
  std::uint64_t next_ = 1;
  std::uint64_t checksum_ = ChainStart(View(kHandLogId), 0);
};

Status LoadStatus(Store& store) {
  RowTable rows;
  return LoadLog(store, rows).status();
}

std::uint64_t BatchesIn(Store& store) {
  RowTable rows;
  const auto end = LoadLog(store, rows);
  EXPECT_TRUE(end.ok()) << end.status().message();
  return end.ok() ? end->batches : 0;
}

// A store that passes its records through `change` as they are loaded; `change` returns false to
// omit a record.
class ChangedStore final : public Store {
 public:
  using ChangeRecord = std::function<bool(StoredRecord&, std::string&)>;
  ChangedStore(Store& store, ChangeRecord change) : store_(store), change_(std::move(change)) {}

  Status Load(RecordSink& sink) override {
    struct Passing final : RecordSink {
      Passing(RecordSink& to, const ChangeRecord& by) : sink(to), change(by) {}
      Status Take(const StoredRecord& record) override {
        StoredRecord changed = record;
        std::string bytes(record.bytes);
        if (!change(changed, bytes)) return {};
        changed.bytes = bytes;
        return sink.Take(changed);
      }
      RecordSink& sink;
      const ChangeRecord& change;
    } passing(sink, change_);
    return store_.Load(passing);
  }
  Status Append(std::span<const StoredRecord>, Durability) override { return Failed("read only"); }
  Status Replace(const StoredRecord&, std::uint64_t) override { return Failed("read only"); }
  Status Sync() override { return Failed("read only"); }

 private:
  Store& store_;
  ChangeRecord change_;
};

TEST(StorageLoad, AnEmptyStoreIsNotTakenForAnEmptyLog) {
  MemoryStore store;
  EXPECT_THAT(LoadStatus(store).message(), HasSubstr("the snapshot header is missing"));
}

TEST(StorageLoad, ANewLogHasNoRowsAndBeginsWithBatchOne) {
  MemoryStore store;
  ASSERT_TRUE(BeginLog(store, kHandLogId).ok());
  RowTable rows;
  const auto end = LoadLog(store, rows);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->log_id, kHandLogId);
  EXPECT_EQ(end->next_batch, 1U);
  EXPECT_TRUE(rows.rows().empty());
}

TEST(StorageLoad, BatchesComeBackInOrderAndTheChainGoesOn) {
  MemoryStore store;
  HandWriter writer(store);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(writer.AppendBatch().ok());
  RowTable rows;
  const auto end = LoadLog(store, rows);
  ASSERT_TRUE(end.ok()) << end.status().message();
  EXPECT_EQ(end->next_batch, 21U);
  EXPECT_EQ(rows.rows().size(), 21U);
  ASSERT_TRUE(writer.AppendBatch().ok());
  EXPECT_EQ(BatchesIn(store), 21U);
}

TEST(StorageLoad, AMissingBatchIsNamed) {
  MemoryStore store;
  HandWriter writer(store);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(writer.AppendBatch().ok());
  for (std::uint64_t missing = 1; missing <= 4; ++missing) {
    ChangedStore changed(store, [&](StoredRecord& record, std::string&) {
      return record.kind != RecordKind::kBatch || record.number != missing;
    });
    EXPECT_EQ(LoadStatus(changed).message(), "batch " + std::to_string(missing) + " is missing");
  }
}

TEST(StorageLoad, EveryDamagedByteOfABatchOrHeadingIsRefused) {
  MemoryStore store;
  HandWriter writer(store);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer.AppendBatch().ok());
  for (const RecordKind kind : {RecordKind::kBatch, RecordKind::kHeading}) {
    std::size_t bytes_of_record = 1;
    for (std::size_t at = 0; at < bytes_of_record; ++at) {
      ChangedStore changed(store, [&](StoredRecord& record, std::string& bytes) {
        if (record.kind != kind || record.number == 2) return true;
        bytes_of_record = bytes.size();
        bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
        return true;
      });
      ASSERT_EQ(LoadStatus(changed).code(), StatusCode::kDamaged) << at;
    }
  }
}

TEST(StorageLoad, ABatchOfAnotherLogIsRefused) {
  MemoryStore store;
  HandWriter writer(store);
  ASSERT_TRUE(writer.AppendBatch().ok());
  ASSERT_TRUE(BeginLog(store, {'o', 't', 'h', 'e', 'r'}).ok());
  EXPECT_THAT(LoadStatus(store).message(), HasSubstr("batch 1 does not match its checksum"));
}

TEST(StorageLoad, TwoHeadingsAreRefused) {
  MemoryStore store;
  HandWriter writer(store);
  SnapshotHeading second = HeadingOfNewLog(kHandLogId);
  second.generation = 1;
  RecordWriter heading;
  const StoredRecord record{.kind = RecordKind::kHeading,
                            .generation = 1,
                            .number = 1,
                            .bytes = EncodeHeading(second, heading)};
  ASSERT_TRUE(store.Append({&record, 1}, Durability::kMachine).ok());
  EXPECT_THAT(LoadStatus(store).message(), HasSubstr("headers for snapshots 0 and 1"));
}

TEST(StorageFaulty, AKilledProcessLosesNothingThatWasAppended) {
  FaultyStore store;
  HandWriter writer(store);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(writer.AppendBatch().ok());
  store.CrashProcess();
  EXPECT_EQ(BatchesIn(store), 5U);
}

TEST(StorageFaulty, ALostMachineKeepsWhatWasSyncedAndAsMuchMoreAsIsSaid) {
  for (std::size_t kept = 0; kept <= 3; ++kept) {
    FaultyStore store;
    HandWriter writer(store);
    ASSERT_TRUE(writer.AppendBatch().ok());
    ASSERT_TRUE(writer.AppendBatch(Durability::kMachine).ok());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer.AppendBatch().ok());
    EXPECT_EQ(store.unsynced(), 3U);
    store.CrashMachine({.unsynced_kept = kept});
    EXPECT_EQ(BatchesIn(store), 2 + kept);
  }
}

TEST(StorageFaulty, ATornRecordIsRefusedByItsName) {
  FaultyStore store;
  HandWriter writer(store);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer.AppendBatch().ok());
  store.CrashMachine({.unsynced_kept = 3, .tears_last = true});
  EXPECT_THAT(LoadStatus(store).message(), HasSubstr("batch 3"));
}

TEST(StorageFaulty, TheChosenWriteFailsAndEverythingAfterIt) {
  FaultyStore store;
  HandWriter writer(store);
  store.FailWrite(3, Failed("disk full"));
  EXPECT_TRUE(writer.AppendBatch().ok());
  EXPECT_TRUE(store.Sync().ok());
  EXPECT_EQ(writer.AppendBatch().message(), "disk full");
  EXPECT_FALSE(store.Sync().ok());
  store.CrashProcess();
  EXPECT_EQ(BatchesIn(store), 1U);
  EXPECT_TRUE(store.Sync().ok());
}

TEST(StorageFaulty, AFailedWriteCanLeaveItsBytes) {
  FaultyStore store;
  HandWriter writer(store);
  store.FailWrite(1, Failed("too late"), true);
  EXPECT_FALSE(writer.AppendBatch().ok());
  store.CrashProcess();
  EXPECT_EQ(BatchesIn(store), 1U);
}

}  // namespace
}  // namespace fairlock::storage
