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

#include "storage/log/flusher.h"
#include "storage/log/load_log.h"
#include "storage/log/store.h"
#include "storage/records/record.h"

namespace fairlock::storage {

struct JournalOptions {
  // When a batch is complete: kProcess, mode async: with its write; kMachine, mode sync: with the
  // sync of all that gathered.
  Durability durability = Durability::kProcess;
  // In mode async: the pause between two syncs. What a lost machine loses is this plus one sync.
  std::chrono::milliseconds flush_interval{100};
  std::size_t group_bytes_max = std::size_t{4} << 20;  // of one write, unless one record is larger
  // A write that takes longer is slow.
  std::chrono::nanoseconds quick_max = std::chrono::microseconds(300);
  // What gathers during a quick write is written when Begin is called, and not as soon as that
  // write has ended: more gathers. During a slow one all has gathered.
  bool awaits_begin = false;
  // What AppendAtOnce writes itself: batches up to this size; a longer one gives the loop enough to
  // do meanwhile.
  std::size_t at_once_bytes_max = std::size_t{16} << 10;
  // Not after a slow write, for so many times what that one took: the share of its time that a slow
  // disk can take from the loop.
  std::uint64_t at_once_pause = 20;
  // A clock, called by the journal's threads and the loop's. Without one nothing is timed, and all
  // is written by the journal's threads.
  std::function<std::uint64_t()> monotonic_ns = {};
};

struct Appended {
  std::uint64_t batch = 0;   // its number, or 0 if the journal has failed
  bool is_complete = false;  // already, and as quickly as if nothing had been written
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
// To wake a thread and to be woken by it costs more than a small write. So while the journal's has
// nothing to do the loop may write by itself, which blocks it; a disk that is slow blocks it once.
// It never waits for a sync.
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
  // The same for a batch that is complete as the options say; in mode async written by this thread
  // if it is small, nothing else is being written or synced, and writing has been quick lately. A
  // batch that took long is complete when Look says so, as any other. REQUIRES: Look has seen all
  // before it complete.
  Appended AppendAtOnce(RecordWriter& batch);

  // A snapshot is begun between two batches, its slices are handed over in between later ones, and
  // it takes effect when it is finished. One at a time; one that is not finished has no effect.
  void BeginSnapshot();
  void AppendSlice(RecordWriter& slice);
  void FinishSnapshot();

  // With awaits_begin: what has gathered may be written, unless batches that were begun are not
  // complete yet; so this is to be called again when Look has seen that they are.
  void Begin();

  // Nothing is written any more, as after a write that failed for that reason.
  void Fail(const Status& status);

  JournalProgress Look();
  // Whether the last write, in mode sync with its sync, took no longer than quick_max.
  bool is_quick() const { return is_quick_.load(std::memory_order_relaxed); }
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
  // What only the writing thread touches, and the loop's while that one is idle.
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
  bool MayWriteAtOnce(std::size_t bytes, std::uint64_t now_ns) const;
  Status WriteAll(std::vector<Item>& items);
  Status WriteItem(Item& item);
  Status WriteRecords();
  Status WriteRecordsAndTell();
  Status WriteHeading();
  void SealRecord(Item& item);
  void Recycle(std::vector<Item>& items);
  void WakeLoop();
  std::uint64_t ClockNs() const { return options_.monotonic_ns ? options_.monotonic_ns() : 0; }
  void NoteSync(std::uint64_t began_ns);
  void NoteWrite(std::uint64_t began_ns);

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
  bool is_begun_ = false;    // what has gathered may be taken
  bool is_awaited_ = false;  // so may whatever comes
  bool is_stopping_ = false;

  std::atomic<std::uint64_t> completed_;
  std::atomic<std::uint64_t> durable_;
  std::atomic<std::uint64_t> snapshot_;
  std::atomic<std::uint64_t> syncs_ = 0;
  std::atomic<std::uint64_t> syncs_ns_ = 0;
  std::atomic<std::uint64_t> at_once_from_ns_ = 0;  // when the loop may write again
  std::atomic<bool> is_quick_ = true;
  std::atomic<bool> has_failed_ = false;
  std::atomic<bool> was_woken_ = false;

  Chain chain_;
  // The loop's alone:
  std::uint64_t begun_batch_ = 0;  // the newest when Begin let the thread write
  bool has_handed_over_ = false;   // since then
  Item at_once_;
  std::uint64_t flush_began_ns_ = 0;  // only the flusher's thread touches it
  std::unique_ptr<Flusher> flusher_;  // in mode async
  std::thread thread_;
};

}  // namespace fairlock::storage
