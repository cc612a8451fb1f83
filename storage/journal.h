// The thread that writes batches to a store, all that gathered meanwhile in one go.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "storage/flusher.h"
#include "storage/load_log.h"
#include "storage/record.h"
#include "storage/store.h"

namespace fairlock::storage {

struct JournalOptions {
  // When a batch is complete: kProcess, mode async: with its write; kMachine, mode sync: with the
  // sync of all that gathered.
  Durability durability = Durability::kProcess;
  // In mode async: the pause between two syncs. What a lost machine loses is this plus one sync.
  std::chrono::milliseconds flush_interval{100};
  std::size_t group_bytes_max = std::size_t{4} << 20;  // of one write, unless one record is larger
  // A clock for SyncTimes, called by the journal's threads; without one nothing is timed.
  std::function<std::uint64_t()> monotonic_ns = {};
};

struct JournalProgress {
  std::uint64_t completed_batch = 0;  // this one and all before it are as durable as asked for
  std::uint64_t durable_batch = 0;    // this one and all before it outlive the machine
  std::uint64_t snapshot = 0;         // the newest generation that was finished
  bool has_failed = false;            // nothing is written any more; failure() says why
};

// Of those that were asked for by the journal; in mode sync each includes its write.
struct SyncTimes {
  std::uint64_t count = 0;
  std::uint64_t sum_ns = 0;
};

struct JournalDepth {
  std::uint64_t records = 0;  // handed over and not yet written
  std::uint64_t bytes = 0;
};

// One loop thread hands over; two threads of the journal's own write and sync. Nothing is written
// on a timer: a write takes whatever came while the one before was under way. A mutex is held for
// a few moves of pointers each call, and an idle writer costs one system call to wake.
//
// The first write or sync that fails is the last: has_failed is set, the wake function called, and
// whatever comes later is dropped and refused. Nothing is tried again.
//
// The store and the wake function must outlive the journal. The wake function is called by the
// journal's threads, at most once between two calls of Look.
class Journal {
 public:
  using Wake = std::function<void()>;

  // Goes on where `end`, from LoadLog on this store, says that the log ends.
  Journal(Store& store, const LogEnd& end, const JournalOptions& options, Wake wake);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal() { Stop(); }

  // All below: the loop thread's.

  // The number that the next Append gives.
  std::uint64_t open_batch() const { return open_batch_; }

  // Hands over the changes in `batch`, which is empty afterwards and may be filled again. Returns
  // its number, or 0 if the journal has failed. With kMachine it is complete only when it is
  // durable, in every mode.
  std::uint64_t Append(RecordWriter& batch, Durability at_least = Durability::kProcess);

  // A snapshot is begun between two batches, its slices are handed over in between later ones, and
  // it takes effect when it is finished. One at a time; one that is not finished has no effect.
  void BeginSnapshot();
  void AppendSlice(RecordWriter& slice);
  void FinishSnapshot();

  JournalProgress Look();
  JournalDepth depth() const;
  SyncTimes sync_times() const;
  Status failure() const;

  // Returns when everything that was handed over is written, or the journal has failed.
  void AwaitWritten();

  // Writes and syncs what was handed over, then ends the threads. Nothing may be appended after.
  void Stop();

 private:
  enum class Step : std::uint8_t { kBatch, kBegin, kSlice, kFinish };
  struct Item {
    Step step = Step::kBatch;
    Durability at_least = Durability::kProcess;
    RecordWriter record;
  };
  // What only the writing thread touches.
  struct Chain {
    LogEnd end;
    SnapshotHeading heading;  // of the snapshot under way
    std::vector<StoredRecord> records;
    Durability durability = Durability::kProcess;
    std::size_t bytes = 0;
  };

  bool HandOver(Step step, RecordWriter* record, Durability at_least);
  void Run();
  bool TakeGathered(std::vector<Item>& items);
  Status WriteAll(std::vector<Item>& items);
  Status WriteItem(Item& item);
  Status WriteRecords();
  Status WriteHeading();
  void SealRecord(Item& item);
  void Recycle(std::vector<Item>& items);
  void Fail(const Status& status);
  void WakeLoop();
  std::uint64_t ClockNs() const { return options_.monotonic_ns ? options_.monotonic_ns() : 0; }
  void NoteSync(std::uint64_t began_ns);

  Store& store_;
  const JournalOptions options_;
  const Wake wake_;
  std::uint64_t open_batch_;

  mutable std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable has_written_;
  std::vector<Item> gathered_;
  std::vector<RecordWriter> spare_;
  JournalDepth depth_;
  Status failure_;
  bool is_idle_ = false;
  bool is_stopping_ = false;

  std::atomic<std::uint64_t> completed_;
  std::atomic<std::uint64_t> durable_;
  std::atomic<std::uint64_t> snapshot_;
  std::atomic<std::uint64_t> syncs_ = 0;
  std::atomic<std::uint64_t> syncs_ns_ = 0;
  std::atomic<bool> has_failed_ = false;
  std::atomic<bool> was_woken_ = false;

  Chain chain_;
  std::uint64_t flush_began_ns_ = 0;  // only the flusher's thread touches it
  std::unique_ptr<Flusher> flusher_;  // in mode async
  std::thread thread_;
};

}  // namespace fairlock::storage
