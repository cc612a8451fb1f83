// Batches that the loop writes itself, instead of leaving them to the writing thread.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "storage/log/journal.h"
#include "storage/records/rows.h"
#include "tests/doubles/faulty_store.h"
#include "tests/doubles/memory_store.h"
#include "tests/unit/storage/storage_test_support.h"

namespace fairlock::storage {
namespace {

using namespace std::chrono_literals;

// Records which thread writes, advances a clock by the duration of each write, and can be blocked.
class WatchedStore final : public Store {
 public:
  Status Load(RecordSink& sink) override { return content_.Load(sink); }
  Status Append(std::span<const StoredRecord> records, Durability durability) override {
    std::unique_lock lock(mutex_);
    writers_.push_back(std::this_thread::get_id());
    durabilities_.push_back(durability);
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
    now_ns_ += write_ns_;
    return content_.Append(records, durability);
  }
  Status Replace(const StoredRecord& heading, std::uint64_t first_batch) override {
    return content_.Replace(heading, first_batch);
  }
  Status Sync() override {
    std::unique_lock lock(mutex_);
    is_syncing_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_ && are_syncs_open_; });
    is_syncing_ = false;
    return {};
  }

  void set_open(bool is_open) {
    const std::lock_guard lock(mutex_);
    is_open_ = is_open;
    changed_.notify_all();
  }
  void set_syncs_open(bool are_open) {
    const std::lock_guard lock(mutex_);
    are_syncs_open_ = are_open;
    changed_.notify_all();
  }
  void set_write_time(std::chrono::nanoseconds time) {
    write_ns_ = static_cast<std::uint64_t>(time.count());
  }
  void Pass(std::chrono::nanoseconds time) { now_ns_ += static_cast<std::uint64_t>(time.count()); }
  void AwaitWrites(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return writers_.size() >= count; });
  }
  void AwaitSync() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_syncing_; });
  }
  std::vector<Durability> durabilities() {
    const std::lock_guard lock(mutex_);
    return durabilities_;
  }
  bool WasLastWrittenHere() {
    const std::lock_guard lock(mutex_);
    return !writers_.empty() && writers_.back() == std::this_thread::get_id();
  }
  std::function<std::uint64_t()> clock() {
    return [this] { return now_ns_.load(); };
  }

 private:
  MemoryStore content_;
  std::atomic<std::uint64_t> now_ns_ = 1'000'000'000;
  std::atomic<std::uint64_t> write_ns_ = 1'000;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
  bool are_syncs_open_ = true;
  bool is_syncing_ = false;
  std::vector<std::thread::id> writers_;
  std::vector<Durability> durabilities_;
};

// The first write starts a sync in the background, during which the journal's thread gets all new
// batches. No other sync begins until flush_interval has passed.
void AwaitFirstSync(Journal& journal) {
  for (int i = 0; i < 20'000 && journal.Look().durable_batch == 0; ++i) {
    std::this_thread::sleep_for(1ms);
  }
  ASSERT_GT(journal.Look().durable_batch, 0U) << "the journal is never synced";
}

class StorageAtOnce : public testing::Test {
 protected:
  void BeginJournal(JournalOptions options) {
    options.monotonic_ns = store_.clock();
    journal_.emplace(store_, BeginTestLog(store_), options, [this] { ++wakes_; });
    BecomeIdle();
    AwaitFirstSync(*journal_);
  }

  // After a write, the writing thread takes a moment to notice that nothing more is queued; until
  // then, it gets new batches as well.
  void BecomeIdle() {
    for (int i = 0; i < 5'000; ++i) {
      journal_->AwaitWritten();
      if (Append().is_complete) return;
      std::this_thread::sleep_for(1ms);
    }
    FAIL() << "the journal is never idle";
  }

  Appended Append(std::size_t owner_bytes = 10) {
    RecordWriter batch;
    const std::string owner(owner_bytes, 'o');
    const std::string key = "key" + std::to_string(journal_->open_batch());
    rows::Hold row = PlainHold(key, journal_->open_batch());
    row.claim.owner = owner;
    PutRow(batch, row);
    const Appended appended = journal_->Append(batch, AppendMode::kAtOnce);
    EXPECT_TRUE(batch.empty());
    return appended;
  }

  std::size_t RowsInStore() {
    RowTable rows;
    const auto end = LoadLog(store_, rows);
    EXPECT_TRUE(end.ok()) << end.status().message();
    return rows.rows().size();
  }

  WatchedStore store_;
  std::atomic<int> wakes_ = 0;
  std::optional<Journal> journal_;
};

TEST_F(StorageAtOnce, AnIdleJournalHasItWrittenByWhoeverAppends) {
  BeginJournal({.flush_interval = 1h});
  journal_->Look();
  const int wakes = wakes_;
  const std::uint64_t batch = journal_->open_batch();
  const Appended appended = Append();
  EXPECT_EQ(appended.batch, batch);
  EXPECT_TRUE(appended.is_complete);
  EXPECT_TRUE(store_.WasLastWrittenHere());
  EXPECT_EQ(store_.durabilities().back(), Durability::kProcess);
  EXPECT_EQ(journal_->Look().completed_batch, batch);
  EXPECT_EQ(wakes_, wakes) << "whoever wrote it knows";
}

TEST_F(StorageAtOnce, BatchesOfBothThreadsAreOneLog) {
  BeginJournal({.flush_interval = 1h});
  for (int i = 0; i < 50; ++i) {
    Append(i % 7 == 0 ? 40'000 : 10);
    if (i % 11 == 0) {
      journal_->AwaitWritten();
      journal_->Look();
    }
    if (i % 13 == 0) BecomeIdle();
  }
  journal_->Stop();
  EXPECT_EQ(RowsInStore(), journal_->open_batch() - 1);
  EXPECT_EQ(journal_->Look().durable_batch, journal_->open_batch() - 1);
}

TEST_F(StorageAtOnce, ALongBatchIsTheThreads) {
  BeginJournal({.flush_interval = 1h, .at_once_bytes_max = 200});
  EXPECT_FALSE(Append(200).is_complete);
  journal_->AwaitWritten();
  EXPECT_FALSE(store_.WasLastWrittenHere());
}

TEST_F(StorageAtOnce, NothingIsSyncedByWhoeverAppends) {
  journal_.emplace(
      store_, BeginTestLog(store_),
      JournalOptions{.durability = Durability::kMachine, .monotonic_ns = store_.clock()},
      [this] { ++wakes_; });
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(Append().is_complete);
    journal_->AwaitWritten();
    EXPECT_FALSE(store_.WasLastWrittenHere());
    std::this_thread::sleep_for(1ms);  // the writing thread becomes idle
  }
}

TEST_F(StorageAtOnce, NothingOvertakesWhatTheThreadWrites) {
  BeginJournal({.flush_interval = 1h, .at_once_bytes_max = 200});
  const std::size_t writes = store_.durabilities().size();
  store_.set_open(false);
  EXPECT_FALSE(Append(200).is_complete);
  store_.AwaitWrites(writes + 1);
  EXPECT_FALSE(Append().is_complete);
  store_.set_open(true);
  journal_->Stop();
  EXPECT_EQ(RowsInStore(), journal_->open_batch() - 1);
}

// If the loop wrote during a sync, the write might have to wait for the sync, and the loop with it.
TEST_F(StorageAtOnce, NothingIsWrittenHereDuringASync) {
  BeginJournal({.flush_interval = 1ms});
  store_.set_syncs_open(false);
  // The sync from the start may be over already; this row makes another one necessary.
  Append();
  std::thread opener([this] {
    store_.AwaitSync();
    // Nothing that is appended now may wait for the sync.
    const std::uint64_t batch = journal_->open_batch();
    EXPECT_FALSE(Append().is_complete);
    EXPECT_GT(journal_->open_batch(), batch);
    store_.set_syncs_open(true);
  });
  opener.join();
  journal_->Stop();
  EXPECT_EQ(RowsInStore(), journal_->open_batch() - 1);
}

// The replies are sent in the next turn, which adds the duration of the write to the leases.
TEST_F(StorageAtOnce, AWriteThatTookLongIsNotCompleteYetAndTheLastForAWhile) {
  BeginJournal({.flush_interval = 1h, .quick_max = 300us, .at_once_pause = 20});
  journal_->Look();
  const int wakes = wakes_;
  store_.set_write_time(1ms);
  EXPECT_FALSE(Append().is_complete);
  EXPECT_TRUE(store_.WasLastWrittenHere());
  EXPECT_EQ(wakes_, wakes + 1);
  EXPECT_EQ(journal_->Look().completed_batch, journal_->open_batch() - 1);
  store_.set_write_time(0ms);
  store_.Pass(19ms);
  EXPECT_FALSE(Append().is_complete);
  journal_->AwaitWritten();
  EXPECT_FALSE(store_.WasLastWrittenHere());
  store_.Pass(1ms);
  BecomeIdle();
  EXPECT_TRUE(store_.WasLastWrittenHere());
}

// After a slow write, everything that could gather has gathered, so the disk need not wait for the
// loop.
TEST_F(StorageAtOnce, AfterASlowWriteNothingAwaitsItsBegin) {
  journal_.emplace(store_, BeginTestLog(store_),
                   JournalOptions{.durability = Durability::kMachine,
                                  .quick_max = 300us,
                                  .awaits_begin = true,
                                  .monotonic_ns = store_.clock()},
                   [this] { ++wakes_; });
  for (const bool is_slow : {true, false}) {
    store_.set_write_time(is_slow ? 1ms : 100us);
    const std::size_t writes = store_.durabilities().size();
    store_.set_open(false);
    Append();
    journal_->Begin();
    store_.AwaitWrites(writes + 1);
    Append();
    store_.set_open(true);
    if (is_slow) {
      store_.AwaitWrites(writes + 2);
    } else {
      std::this_thread::sleep_for(20ms);
      EXPECT_EQ(store_.durabilities().size(), writes + 1);
    }
    journal_->AwaitWritten();
    EXPECT_EQ(store_.durabilities().size(), writes + 2);
  }
}

TEST(StorageAtOnceFailing, AFailedWriteIsTheLast) {
  FaultyStore store;
  std::atomic<int> wakes = 0;
  Journal journal(store, BeginTestLog(store),
                  {.flush_interval = 1h, .monotonic_ns = [] { return std::uint64_t{1}; }},
                  [&] { ++wakes; });
  const auto append = [&] {
    RecordWriter batch;
    PutRow(batch, PlainHold("key" + std::to_string(journal.open_batch()), 1));
    return journal.Append(batch, AppendMode::kAtOnce);
  };
  while (!append().is_complete) journal.AwaitWritten();
  AwaitFirstSync(journal);
  const std::uint64_t completed = journal.Look().completed_batch;
  store.FailWrite(1, Failed("no space left"));
  const Appended failed = append();
  EXPECT_EQ(failed.batch, completed + 1);
  EXPECT_FALSE(failed.is_complete);
  EXPECT_GE(wakes, 1);
  EXPECT_TRUE(journal.Look().has_failed);
  EXPECT_EQ(journal.Look().completed_batch, completed);
  EXPECT_EQ(journal.failure().message(), "no space left");
  EXPECT_EQ(append().batch, 0U);
  journal.Stop();
}

}  // namespace
}  // namespace fairlock::storage
