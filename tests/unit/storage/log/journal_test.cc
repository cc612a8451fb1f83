#include "storage/log/journal.h"

#include <gmock/gmock.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "storage/records/rows.h"
#include "tests/doubles/faulty_store.h"
#include "tests/doubles/memory_store.h"
#include "tests/unit/storage/storage_test_support.h"

namespace fairlock::storage {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto kPatience = 20s;

// Plays the loop: counts how many times it is woken, and waits for progress.
class Loop {
 public:
  Journal::Wake wake() {
    return [this] {
      const std::lock_guard lock(mutex_);
      ++wakes_;
      changed_.notify_one();
    };
  }

  // Checks the progress until the condition holds, sleeping until woken in between. Returns false
  // after a long time.
  template <typename Condition>
  bool WaitUntil(Journal& journal, const Condition& holds) {
    std::unique_lock lock(mutex_);
    while (true) {
      const int seen = wakes_;
      lock.unlock();
      if (holds(journal.Look())) return true;
      lock.lock();
      if (!changed_.wait_for(lock, kPatience, [&] { return wakes_ != seen; })) return false;
    }
  }

  bool WaitForBatch(Journal& journal, std::uint64_t batch) {
    return WaitUntil(journal, [&](const JournalProgress& progress) {
      return progress.completed_batch >= batch || progress.has_failed;
    });
  }

  int wakes() {
    const std::lock_guard lock(mutex_);
    return wakes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int wakes_ = 0;
};

// Counts writes, and lets them start only when the test opens the gate.
class GatedStore final : public Store {
 public:
  Status Load(RecordSink& sink) override { return content_.Load(sink); }
  Status Append(std::span<const StoredRecord> records, Durability durability) override {
    std::unique_lock lock(mutex_);
    groups_.push_back(records.size());
    durabilities_.push_back(durability);
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
    return content_.Append(records, durability);
  }
  Status Replace(const StoredRecord& heading, std::uint64_t first_batch) override {
    return content_.Replace(heading, first_batch);
  }
  Status Sync() override {
    const std::lock_guard lock(mutex_);
    ++syncs_;
    changed_.notify_all();
    return {};
  }

  void Open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  void WaitForWrite() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !groups_.empty(); });
  }
  bool WaitForSyncs(int syncs) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return syncs_ >= syncs; });
  }
  std::vector<std::size_t> groups() {
    const std::lock_guard lock(mutex_);
    return groups_;
  }
  std::vector<Durability> durabilities() {
    const std::lock_guard lock(mutex_);
    return durabilities_;
  }

 private:
  MemoryStore content_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  int syncs_ = 0;
  std::vector<std::size_t> groups_;
  std::vector<Durability> durabilities_;
};

std::uint64_t AppendHold(Journal& journal, std::uint64_t token,
                         AppendMode mode = AppendMode::kGathered) {
  RecordWriter batch;
  PutRow(batch, PlainHold("key" + std::to_string(token), token));
  return journal.Append(batch, mode).batch;
}

std::size_t RowsIn(Store& store) {
  RowTable rows;
  const auto end = LoadLog(store, rows);
  EXPECT_TRUE(end.ok()) << end.status().message();
  return rows.rows().size();
}

class StorageJournalModes : public testing::TestWithParam<Durability> {};

TEST_P(StorageJournalModes, EverythingHandedOverIsThereAfterTheStop) {
  MemoryStore store;
  Loop loop;
  const LogEnd end = BeginTestLog(store);
  Journal journal(store, end, {.durability = GetParam()}, loop.wake());
  for (std::uint64_t i = 1; i <= 5'000; ++i) {
    ASSERT_EQ(journal.open_batch(), i);
    ASSERT_EQ(AppendHold(journal, i), i);
    if (i % 1'000 == 0) {
      ASSERT_TRUE(loop.WaitForBatch(journal, i));
    }
  }
  journal.Stop();
  EXPECT_EQ(journal.Look().durable_batch, 5'000U);
  EXPECT_EQ(journal.depth().records, 0U);
  EXPECT_EQ(journal.depth().bytes, 0U);
  EXPECT_EQ(RowsIn(store), 5'000U);
}

TEST_P(StorageJournalModes, ASecondJournalGoesOnWhereTheFirstEnded) {
  MemoryStore store;
  Loop loop;
  LogEnd end = BeginTestLog(store);
  for (std::uint64_t round = 0; round < 3; ++round) {
    Journal journal(store, end, {.durability = GetParam()}, loop.wake());
    for (std::uint64_t i = 1; i <= 10; ++i) AppendHold(journal, round * 10 + i);
    journal.Stop();
    RowTable rows;
    const auto reloaded = LoadLog(store, rows);
    ASSERT_TRUE(reloaded.ok()) << reloaded.status().message();
    end = reloaded.value();
    EXPECT_EQ(rows.rows().size(), (round + 1) * 10);
  }
}

INSTANTIATE_TEST_SUITE_P(, StorageJournalModes,
                         testing::Values(Durability::kProcess, Durability::kMachine),
                         [](const auto& mode) {
                           return mode.param == Durability::kProcess ? "Async" : "Sync";
                         });

TEST(StorageJournal, WhatGathersDuringAWriteIsWrittenInOne) {
  GatedStore store;
  Loop loop;
  Journal journal(store, BeginTestLog(store), {.durability = Durability::kMachine}, loop.wake());
  AppendHold(journal, 1);
  store.WaitForWrite();
  for (std::uint64_t i = 2; i <= 100; ++i) AppendHold(journal, i);
  EXPECT_EQ(journal.depth().records, 100U);
  EXPECT_GT(journal.depth().bytes, 100U * 40);
  store.Open();
  ASSERT_TRUE(loop.WaitForBatch(journal, 100));
  EXPECT_EQ(store.groups(), (std::vector<std::size_t>{1, 99}));
}

// Between the end of a write and the next Begin, everything that the loop appends is gathered.
TEST(StorageJournal, WithBeginNothingIsWrittenBeforeIt) {
  GatedStore store;
  Loop loop;
  Journal journal(store, BeginTestLog(store),
                  {.durability = Durability::kMachine, .awaits_begin = true}, loop.wake());
  AppendHold(journal, 1);
  AppendHold(journal, 2);
  std::this_thread::sleep_for(20ms);
  EXPECT_TRUE(store.groups().empty());
  journal.Begin();
  store.WaitForWrite();
  AppendHold(journal, 3);
  journal.Begin();  // batches 1 and 2 are still being written
  store.Open();
  ASSERT_TRUE(loop.WaitForBatch(journal, 2));
  AppendHold(journal, 4);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(store.groups(), (std::vector<std::size_t>{2}));
  journal.Begin();
  ASSERT_TRUE(loop.WaitForBatch(journal, 4));
  EXPECT_EQ(store.groups(), (std::vector<std::size_t>{2, 2}));
  AppendHold(journal, 5);
  journal.AwaitWritten();
  EXPECT_EQ(store.groups().size(), 3U);
  AppendHold(journal, 6);
  journal.Stop();
  EXPECT_EQ(journal.Look().durable_batch, 6U);
}

TEST(StorageJournal, AConfirmationIsAWriteThatBeganAfterIt) {
  GatedStore store;
  Loop loop;
  Journal journal(store, BeginTestLog(store), {.durability = Durability::kMachine}, loop.wake());
  EXPECT_EQ(AppendHold(journal, 1), 1U);
  store.WaitForWrite();
  // The write of batch 1 has already started.
  EXPECT_EQ(journal.Confirm(), 2U);
  EXPECT_EQ(journal.Confirm(), 2U);
  EXPECT_EQ(AppendHold(journal, 2), 3U);
  EXPECT_EQ(journal.Confirm(), 3U);
  EXPECT_EQ(journal.Look().completed_batch, 0U);
  store.Open();
  ASSERT_TRUE(loop.WaitForBatch(journal, 3));
  // Even without records, the store is asked to write.
  EXPECT_EQ(journal.Confirm(), 4U);
  ASSERT_TRUE(loop.WaitForBatch(journal, 4));
  EXPECT_EQ(store.groups(), (std::vector<std::size_t>{1, 1, 0}));
  journal.Stop();
  RowTable rows;
  const auto end = LoadLog(store, rows);
  ASSERT_TRUE(end.ok()) << end.status().message();
  EXPECT_EQ(end->batches, 2U);
}

TEST(StorageJournal, AConfirmationThatIsNotWrittenIsNeverComplete) {
  FaultyStore store;
  Loop loop;
  Journal journal(store, BeginTestLog(store), {.durability = Durability::kMachine}, loop.wake());
  store.FailWrite(1, Failed("deposed"));
  EXPECT_EQ(journal.Confirm(), 1U);
  journal.AwaitWritten();
  EXPECT_TRUE(journal.Look().has_failed);
  EXPECT_EQ(journal.Look().completed_batch, 0U);
  EXPECT_EQ(journal.Confirm(), 0U);
}

// Acts like the loop: calls Begin whenever it was woken, and at the end of each turn.
TEST(StorageJournal, WithBeginEverythingIsWrittenInTheEnd) {
  MemoryStore store;
  Loop loop;
  Journal journal(store, BeginTestLog(store),
                  {.durability = Durability::kMachine, .awaits_begin = true}, loop.wake());
  for (std::uint64_t i = 1; i <= 20'000; ++i) {
    const std::uint64_t batch = AppendHold(journal, i);
    if (i % 500 == 0) {
      journal.BeginSnapshot();
      RecordWriter slice;
      PutRow(slice, PlainHold("in the slice", i));
      journal.AppendSlice(slice);
    }
    journal.Begin();
    if (i % 500 == 250 && i > 500) journal.FinishSnapshot();
    if (i % 3 != 0) continue;
    ASSERT_TRUE(loop.WaitUntil(journal, [&](const JournalProgress& progress) {
      journal.Begin();
      return progress.completed_batch >= batch;
    })) << i;
  }
}

TEST(StorageJournal, AWriteIsCutAtItsLargestSize) {
  GatedStore store;
  Loop loop;
  Journal journal(store, BeginTestLog(store), {.group_bytes_max = 1}, loop.wake());
  AppendHold(journal, 1);
  store.WaitForWrite();
  for (std::uint64_t i = 2; i <= 4; ++i) AppendHold(journal, i);
  store.Open();
  ASSERT_TRUE(loop.WaitForBatch(journal, 4));
  EXPECT_EQ(store.groups(), (std::vector<std::size_t>{1, 1, 1, 1}));
}

TEST(StorageJournal, NothingIsCompleteBeforeItsWriteHasEnded) {
  GatedStore store;
  Loop loop;
  Journal journal(store, BeginTestLog(store), {.durability = Durability::kMachine}, loop.wake());
  AppendHold(journal, 1);
  store.WaitForWrite();
  EXPECT_EQ(journal.Look().completed_batch, 0U);
  EXPECT_EQ(loop.wakes(), 0);
  store.Open();
  ASSERT_TRUE(loop.WaitForBatch(journal, 1));
  EXPECT_EQ(journal.Look().durable_batch, 1U);
}

TEST(StorageJournal, AsyncCompletesBeforeTheSyncAndSyncsSoonAfter) {
  GatedStore store;
  store.Open();
  Loop loop;
  Journal journal(store, BeginTestLog(store), {.flush_interval = 1ms}, loop.wake());
  AppendHold(journal, 1);
  ASSERT_TRUE(loop.WaitForBatch(journal, 1));
  EXPECT_EQ(store.durabilities(), std::vector{Durability::kProcess});
  ASSERT_TRUE(store.WaitForSyncs(1));
  AppendHold(journal, 2);
  ASSERT_TRUE(store.WaitForSyncs(2));
  journal.Stop();
  EXPECT_EQ(journal.Look().durable_batch, 2U);
}

TEST(StorageJournal, ABatchThatMustBeDurableIsSyncedInAsyncToo) {
  GatedStore store;
  store.Open();
  Loop loop;
  Journal journal(store, BeginTestLog(store), {.flush_interval = 1h}, loop.wake());
  const std::uint64_t batch = AppendHold(journal, 1, AppendMode::kDurable);
  ASSERT_TRUE(loop.WaitForBatch(journal, batch));
  EXPECT_EQ(journal.Look().durable_batch, batch);
  EXPECT_EQ(store.durabilities(), std::vector{Durability::kMachine});
}

TEST(StorageJournal, TheStopDoesNotWaitForThePauseBetweenSyncs) {
  FaultyStore store;
  Loop loop;
  Journal journal(store, BeginTestLog(store), {.flush_interval = 1h}, loop.wake());
  for (std::uint64_t i = 1; i <= 100; ++i) AppendHold(journal, i);
  journal.Stop();
  EXPECT_EQ(store.unsynced(), 0U);
}

TEST(StorageJournal, TheLoopIsWokenAtMostOnceUntilItLooks) {
  MemoryStore store;
  Loop loop;
  Journal journal(store, BeginTestLog(store), {}, loop.wake());
  for (std::uint64_t i = 1; i <= 1'000; ++i) AppendHold(journal, i);
  journal.Stop();
  EXPECT_EQ(loop.wakes(), 1);
  EXPECT_EQ(journal.Look().completed_batch, 1'000U);
}

TEST(StorageJournal, ABatchIsEmptyOnceItIsHandedOver) {
  GatedStore store;
  store.Open();
  Loop loop;
  Journal journal(store, BeginTestLog(store), {}, loop.wake());
  RecordWriter batch;
  PutRow(batch, PlainHold("k", 1));
  journal.Append(batch);
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.size(), kRecordHeaderBytes);
}

// Lets each write of a run fail in turn: everything that was complete before the failure is there,
// the failure is reported once, and nothing is written after it.
TEST(StorageJournal, TheFirstFailureIsTheLastWriteAndIsToldOnce) {
  for (const Durability mode : {Durability::kProcess, Durability::kMachine}) {
    for (std::uint64_t k = 1; k <= 12; ++k) {
      FaultyStore store;
      Loop loop;
      const LogEnd end = BeginTestLog(store);
      Journal journal(store, end, {.durability = mode, .flush_interval = 1h}, loop.wake());
      store.FailWrite(k, Failed("no space left"));
      for (std::uint64_t i = 1; i <= 30; ++i) {
        const std::uint64_t batch = AppendHold(journal, i);
        if (batch == 0) break;
        ASSERT_TRUE(loop.WaitForBatch(journal, batch));
      }
      ASSERT_TRUE(loop.WaitUntil(
          journal, [](const JournalProgress& progress) { return progress.has_failed; }));
      EXPECT_EQ(journal.failure().message(), "no space left");
      EXPECT_EQ(AppendHold(journal, 99), 0U);
      const std::uint64_t writes = store.writes();
      journal.Stop();
      // In mode async, both a write and a sync may have been in progress at the failure.
      EXPECT_LE(store.writes(), mode == Durability::kMachine ? writes : writes + 1);
      const std::uint64_t completed = journal.Look().completed_batch;
      store.CrashProcess();
      EXPECT_EQ(RowsIn(store), completed) << "write " << k;
    }
  }
}

TEST(StorageJournal, AFailedBackgroundSyncStopsEverything) {
  FaultyStore store;
  Loop loop;
  Journal journal(store, BeginTestLog(store), {.flush_interval = 1ms}, loop.wake());
  store.FailWrite(2, Failed("sync failed"));
  ASSERT_EQ(AppendHold(journal, 1), 1U);
  ASSERT_TRUE(
      loop.WaitUntil(journal, [](const JournalProgress& progress) { return progress.has_failed; }));
  EXPECT_EQ(journal.failure().message(), "sync failed");
  EXPECT_EQ(AppendHold(journal, 2), 0U);
  const std::uint64_t writes = store.writes();
  journal.Stop();
  EXPECT_EQ(store.writes(), writes);
  EXPECT_EQ(journal.Look().durable_batch, 0U);
}

TEST(StorageJournal, BeingDeposedIsToldAsSuch) {
  FaultyStore store;
  Loop loop;
  Journal journal(store, BeginTestLog(store), {}, loop.wake());
  store.FailWrite(1, Status(StatusCode::kDeposed, "revision 7 is not 6"));
  AppendHold(journal, 1);
  ASSERT_TRUE(loop.WaitForBatch(journal, 1));
  EXPECT_EQ(journal.failure().code(), StatusCode::kDeposed);
}

}  // namespace
}  // namespace fairlock::storage
