// Snapshots that are taken in slices between batches, and interrupted at every write.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "storage/log/journal.h"
#include "storage/log/load_log.h"
#include "storage/records/rows.h"
#include "tests/doubles/faulty_store.h"
#include "tests/unit/storage/storage_test_support.h"

namespace fairlock::storage {
namespace {

using namespace std::chrono_literals;

constexpr LogId kSnapshotLogId = {'s', 'n', 'a', 'p'};
constexpr std::uint64_t kKeys = 40;
constexpr std::uint64_t kRowsPerSlice = 7;

using Locks = std::map<std::uint64_t, std::uint64_t>;  // key -> lease

std::string KeyOf(std::uint64_t key) { return "key" + std::to_string(key); }

// A loop that changes some locks in each batch, and remembers the state after the batch. The same
// seed gives the same changes.
class ChangingLocks {
 public:
  explicit ChangingLocks(std::uint64_t seed) : random_(seed * 2 + 1) {}

  void AppendChanges(Journal& journal) {
    RecordWriter batch;
    for (int i = 0; i < 5; ++i) {
      const std::uint64_t key = Next() % kKeys;
      if (locks_.contains(key) && Next() % 2 == 0) {
        locks_.erase(key);
        DeleteHold(batch, {.token = key + 1, .key = KeyOf(key)});
      } else {
        locks_[key] = Next() % 1'000'000;
        PutHold(batch, key);
      }
    }
    if (journal.Append(batch).batch != 0) states_.push_back(locks_);
  }

  // Appends the rows of the keys starting at `key`; returns the key to continue with.
  std::uint64_t AppendSlice(Journal& journal, std::uint64_t key) {
    RecordWriter slice;
    const std::uint64_t end = key + kRowsPerSlice;
    for (; key < end; ++key) {
      if (locks_.contains(key)) PutHold(slice, key);
    }
    journal.AppendSlice(slice);
    return end;
  }

  const Locks& StateAfter(std::uint64_t batch) const { return states_[batch]; }

 private:
  void PutHold(RecordWriter& record, std::uint64_t key) {
    const std::string name = KeyOf(key);
    rows::Hold row = PlainHold(name, key + 1);
    row.claim.lease_ms = static_cast<rows::DurationMs>(locks_[key]);
    PutRow(record, row);
  }

  std::uint64_t Next() {
    random_ = random_ * 6'364'136'223'846'793'005ULL + 1'442'695'040'888'963'407ULL;
    return random_ >> 33;
  }

  std::uint64_t random_;
  Locks locks_;
  std::vector<Locks> states_ = {{}};
};

Result<Locks> LocksIn(Store& store, LogEnd& end) {
  RowTable table;
  auto loaded = LoadLog(store, table);
  if (!loaded.ok()) return loaded.status();
  end = loaded.value();
  Locks locks;
  for (const auto& [name, value] : table.rows()) {
    rows::Hold row;
    if (!DecodeRow(name.second, value, row)) return Damaged(name.second);
    locks[row.id.token - 1] = static_cast<std::uint64_t>(row.claim.lease_ms);
  }
  return locks;
}

// Takes two snapshots, with changes between all slices.
void PlayTwoSnapshots(ChangingLocks& locks, Journal& journal) {
  for (int snapshot = 0; snapshot < 2; ++snapshot) {
    for (int i = 0; i < 5; ++i) locks.AppendChanges(journal);
    journal.BeginSnapshot();
    for (std::uint64_t key = 0; key < kKeys;) {
      key = locks.AppendSlice(journal, key);
      locks.AppendChanges(journal);
    }
    journal.FinishSnapshot();
  }
  locks.AppendChanges(journal);
}

LogEnd BeginSnapshots(Store& store) {
  EXPECT_TRUE(BeginLog(store, kSnapshotLogId).ok());
  LogEnd end;
  EXPECT_TRUE(LocksIn(store, end).ok());
  return end;
}

TEST(StorageSnapshot, TheStateIsItsSlicesAndTheBatchesSinceItsBeginning) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    FaultyStore store;
    ChangingLocks locks(seed);
    Journal journal(store, BeginSnapshots(store), {}, [] {});
    PlayTwoSnapshots(locks, journal);
    journal.Stop();
    EXPECT_EQ(journal.Look().snapshot, 2U);
    LogEnd end;
    const auto loaded = LocksIn(store, end);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(loaded.value(), locks.StateAfter(end.next_batch - 1));
    EXPECT_EQ(end.batches, 7U);  // six between the slices of the second snapshot, one after
    EXPECT_EQ(end.next_generation, 3U);
  }
}

// Whichever write is the last one, and whether the process or the machine is lost, the complete
// state after some batch comes back. If the process is killed, that is the last complete batch.
TEST(StorageSnapshot, ACrashAtAnyWriteLeavesTheStateOfOneBatch) {
  for (const bool is_machine_lost : {false, true}) {
    for (std::uint64_t k = 1; k <= 40; ++k) {
      FaultyStore store;
      ChangingLocks locks(k);
      const LogEnd begin = BeginSnapshots(store);
      // Each write has only one record, so that every step of the snapshots is a separate write.
      Journal journal(store, begin, {.flush_interval = 1h, .group_bytes_max = 1}, [] {});
      store.FailWrite(k, Failed("crash"));
      PlayTwoSnapshots(locks, journal);
      journal.Stop();
      const std::uint64_t completed = journal.Look().completed_batch;
      const std::uint64_t durable = journal.Look().durable_batch;
      if (is_machine_lost) {
        store.CrashMachine({.unsynced_kept = k % 3});
      } else {
        store.CrashProcess();
      }
      LogEnd end;
      const auto loaded = LocksIn(store, end);
      ASSERT_TRUE(loaded.ok()) << loaded.status().message() << ", write " << k;
      EXPECT_EQ(loaded.value(), locks.StateAfter(end.next_batch - 1)) << "write " << k;
      EXPECT_GE(end.next_batch - 1, is_machine_lost ? durable : completed);
    }
  }
}

TEST(StorageSnapshot, AnUnfinishedOneIsForgottenAndTheNextHasAnotherGeneration) {
  FaultyStore store;
  ChangingLocks locks(1);
  {
    Journal journal(store, BeginSnapshots(store), {}, [] {});
    locks.AppendChanges(journal);
    journal.BeginSnapshot();
    locks.AppendSlice(journal, 0);
    journal.Stop();
  }
  LogEnd end;
  ASSERT_TRUE(LocksIn(store, end).ok());
  EXPECT_EQ(end.next_generation, 2U);
  EXPECT_EQ(end.slice_bytes, 0U);
  {
    Journal journal(store, end, {}, [] {});
    PlayTwoSnapshots(locks, journal);
    journal.Stop();
  }
  const auto loaded = LocksIn(store, end);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded.value(), locks.StateAfter(end.next_batch - 1));
}

}  // namespace
}  // namespace fairlock::storage
