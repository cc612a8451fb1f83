// The journal: a thread that writes batches to a store, combining all gathered batches in one
// write; with the durability kProcess, a second thread (Flusher) syncs them in the background.
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
  // Determines when a batch is complete. kProcess (mode async): when it has been written. kMachine
  // (mode sync): when it has been synced, together with all batches gathered for that write.
  Durability durability = Durability::kProcess;
  // The pause between two syncs in mode async. A machine failure loses at most the writes made
  // during this time plus the duration of one sync.
  std::chrono::milliseconds flush_interval{100};
  std::size_t group_bytes_max = std::size_t{4} << 20;  // bytes per write
  // A write that takes longer counts as slow.
  std::chrono::nanoseconds quick_max = std::chrono::microseconds(300);
  // If true, batches that gather during a quick write are written when Begin is called, not as soon
  // as that write ends, so that more can gather. After a slow write, enough have gathered already.
  bool awaits_begin = false;
  // With AppendMode::kAtOnce, the calling thread writes batches of up to this size itself. Writing
  // a larger batch would take the loop longer than leaving it to the journal's thread.
  std::size_t at_once_bytes_max = std::size_t{16} << 10;
  // After a slow write, the calling thread does not write for this many times the duration of that
  // write. This limits how much of the loop's time a slow disk can take.
  std::uint64_t at_once_pause = 20;
  // A clock, called by the journal's threads and the loop thread. Without it, nothing is timed, and
  // the journal's threads do all writes.
  std::function<std::uint64_t()> monotonic_ns = {};
};

enum class AppendMode : std::uint8_t {
  kGathered,  // the journal's thread writes the batch, together with others
  // In mode async, the calling thread writes the batch itself if the batch is small, no other write
  // or sync is in progress, and recent writes were quick. Otherwise, this is the same as kGathered.
  // If the write takes long, Look reports its completion as for any other batch. REQUIRES: Look has
  // reported all earlier batches as complete.
  kAtOnce,
  kDurable,  // like kGathered, but in every mode, the batch is complete only when it is durable
};

struct Appended {
  std::uint64_t batch = 0;   // its number, or 0 if the journal has failed
  bool is_complete = false;  // it has already been written, without delaying the loop
};

// Batches and confirmations are numbered together. If there are no confirmations, the number of a
// batch is the same as in the log.
struct JournalProgress {
  std::uint64_t completed_batch = 0;  // this batch and all before it have the requested durability
  std::uint64_t durable_batch = 0;    // this batch and all before it survive a machine failure
  std::uint64_t snapshot = 0;         // the generation of the newest finished snapshot
  bool has_failed = false;            // nothing more is written; failure() has the reason
};

// The times of the syncs that the journal requests; in mode sync, each includes its write.
struct SyncTimes {
  std::uint64_t count = 0;
  std::uint64_t sum_ns = 0;
};

struct JournalDepth {
  std::uint64_t records = 0;  // handed over but not yet written
  std::uint64_t bytes = 0;
};

// The loop thread hands batches over; two threads of the journal write and sync them. No write
// waits for a timer: each write takes the batches that gathered during the previous one. Each call
// holds a mutex for a few pointer moves, and waking an idle writer costs one system call.
//
// Waking a thread and being woken by it costs more than a small write. So while the journal's
// thread is idle, the loop may write a batch itself. That blocks the loop, but at_once_pause limits
// how often a slow disk can do so. The loop never waits for a sync.
//
// After the first failed write or sync, nothing more is written and nothing is retried: has_failed
// is set, the wake function is called, and later batches are dropped and refused.
//
// The store and the wake function must outlive the journal. The journal's threads call the wake
// function at most once between two calls of Look.
class Journal {
 public:
  // As good as without end.
  static constexpr std::int64_t kAwaitMsMax = std::int64_t{365} * 24 * 3'600'000;

  using Wake = std::function<void()>;

  // Continues the log after `end`, which LoadLog returned for this store.
  Journal(Store& store, const LogEnd& end, const JournalOptions& options, Wake wake);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal() { Stop(); }

  // For the loop thread only:

  // The number that the next Append, or a new confirmation, will return.
  std::uint64_t open_batch() const { return open_batch_; }

  // Takes over the changes in `batch`, which is then empty and can be reused.
  Appended Append(RecordWriter& batch, AppendMode mode = AppendMode::kGathered);

  // Returns a number that is complete only when a write that begins after this call has succeeded.
  // For a store that can be deposed, this proves that it had not been. The number belongs to a
  // batch or confirmation that waits to be written, or, if there is none, to a new confirmation. 0:
  // the journal has failed.
  std::uint64_t Confirm();

  // A snapshot begins between two batches, its slices are handed over between later batches, and it
  // takes effect when it is finished. There can be only one at a time; an unfinished snapshot has
  // no effect.
  void BeginSnapshot();
  void AppendSlice(RecordWriter& slice);
  void FinishSnapshot();

  // With awaits_begin: lets the gathered batches be written, unless earlier ones are still being
  // written. In that case, call it again when Look has reported those as complete.
  void Begin();

  // Stops all writing, as if a write had failed with this status.
  void Fail(const Status& status);

  JournalProgress Look();
  // Whether the last write (in mode sync, including its sync) took no longer than quick_max.
  bool is_quick() const { return is_quick_.load(std::memory_order_relaxed); }
  JournalDepth depth() const;
  SyncTimes sync_times() const;
  Status failure() const;

  // Blocks until everything handed over has been written, or the journal has failed.
  // Returns false if that took longer than `ms_max`.
  bool AwaitWritten(std::int64_t ms_max = kAwaitMsMax);

  // Writes and syncs everything handed over, then ends the threads. Nothing may be appended
  // afterwards.
  void Stop();

 private:
  enum class Step : std::uint8_t { kBatch, kConfirm, kBegin, kSlice, kFinish };
  struct Item {
    Step step = Step::kBatch;
    Durability at_least = Durability::kProcess;
    RecordWriter record;
  };
  // Used only by the writing thread, or by the loop thread while the writing thread is idle.
  struct Chain {
    LogEnd end;
    SnapshotHeading heading;  // the heading of the snapshot in progress
    std::vector<StoredRecord> records;
    Durability durability = Durability::kProcess;
    std::size_t bytes = 0;
    std::uint64_t newest = 0;  // the number of the newest batch or confirmation taken
    bool confirms = false;     // a write is needed even if there are no records
  };

  bool HandOver(Step step, RecordWriter* record, Durability at_least);
  void Run();
  bool TakeGathered(std::vector<Item>& items);
  bool MayWriteAtOnce(std::size_t bytes, std::uint64_t now_ns) const;
  bool WriteAtOnce(RecordWriter& batch, std::uint64_t began_ns);
  Status WriteAll(std::vector<Item>& items);
  Status WriteItem(Item& item);
  Status WriteRecords();
  Status WriteRecordsAndWake();
  Status WriteHeading();
  void SealRecord(Item& item);
  void Recycle(std::vector<Item>& items);
  void WakeLoop();
  std::uint64_t ClockNs() const { return options_.monotonic_ns ? options_.monotonic_ns() : 0; }
  void CountSync(std::uint64_t began_ns);
  void JudgeWrite(std::uint64_t began_ns);

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
  bool is_begun_ = false;    // the gathered batches may be written
  bool is_awaited_ = false;  // so may all later batches, because a thread waits for them
  bool is_stopping_ = false;

  std::atomic<std::uint64_t> completed_;
  std::atomic<std::uint64_t> durable_;
  std::atomic<std::uint64_t> snapshot_;
  std::atomic<std::uint64_t> syncs_ = 0;
  std::atomic<std::uint64_t> syncs_ns_ = 0;
  std::atomic<std::uint64_t> at_once_from_ns_ = 0;  // the time from which the loop may write again
  std::atomic<bool> is_quick_ = true;
  std::atomic<bool> has_failed_ = false;
  std::atomic<bool> was_woken_ = false;

  Chain chain_;
  // For the loop thread only:
  std::uint64_t begun_batch_ = 0;  // the newest batch at the last Begin that started a write
  bool has_handed_over_ = false;   // whether anything was handed over since that Begin
  Item at_once_;
  std::uint64_t flush_began_ns_ = 0;  // used only by the flusher's thread
  std::unique_ptr<Flusher> flusher_;  // only in mode async
  std::thread thread_;
};

}  // namespace fairlock::storage
