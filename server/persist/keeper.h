// Stores what the lock engine decides: hands it to the journal turn by turn, and says which replies
// may leave.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/engine/lock_engine.h"
#include "server/persist/batch_writer.h"
#include "server/persist/opened_locks.h"
#include "server/persist/undelivered_grants.h"
#include "storage/data_folder/dated_backups.h"
#include "storage/data_folder/folder_watch.h"
#include "storage/log/journal.h"
#include "storage/records/token_blocks.h"

namespace fairlock::persist {

enum class Durability : std::uint8_t {
  kNone,   // only tokens are kept
  kAsync,  // a reply waits for the write to the operating system
  kSync    // a reply waits until the machine may fail
};

// What every batch is at the least.
inline storage::Durability StorageDurabilityOf(Durability durability) {
  return durability == Durability::kSync ? storage::Durability::kMachine
                                         : storage::Durability::kProcess;
}

struct KeeperOptions {
  Durability durability = Durability::kAsync;
  std::string path;  // of the data folder
  engine::DurationMs flush_interval_ms = 100;
  std::uint64_t free_bytes_min = 0;  // with less, no new locks are taken
  engine::DurationMs restart_grace_ms = 30'000;
  engine::DurationMs start_delay_ms = 0;  // of grants, if leases may have been lost
  // Called by the journal's threads: BeginTurn has something to see.
  std::function<void()> wake;
  std::function<std::int64_t()> unix_ms;
  // For how long syncs take; may be called by the journal's threads.
  std::function<std::uint64_t()> monotonic_ns;
};

struct KeeperState {
  bool is_ready = false;
  bool is_short_of_space = false;
  bool has_failed = false;

  friend bool operator==(const KeeperState&, const KeeperState&) = default;
};

// What INFO shows.
struct KeeperFigures {
  std::uint64_t newest_batch = 0;     // handed over
  std::uint64_t completed_batch = 0;  // replies up to this one may leave
  std::uint64_t durable_batch = 0;    // this one and all before outlive the machine
  std::uint64_t bytes_waiting = 0;    // for the journal
  std::uint64_t snapshots = 0;        // the newest generation
  std::uint64_t rows_loaded = 0;
  std::uint64_t free_bytes = 0;
  // Batches that were watched from their hand-over until they were complete; one at a time.
  std::uint64_t batches_timed = 0;
  engine::DurationMs batches_ms = 0;  // all together
  engine::TimeMs watched_since = 0;   // of the one that is watched now; 0: none
  storage::SyncTimes syncs;
  bool is_snapshot_under_way = false;
  bool may_have_lost_leases = false;
};

// A turn calls BeginTurn before it decides anything, Seal whenever a reply is about to be sent, and
// EndTurn at its end. Loop-confined; the wake function apart.
class Keeper {
 public:
  // Restores the locks into the engine, which has none yet, and begins to write. Nothing may be
  // granted before is_ready.
  Keeper(engine::LockEngine& engine, OpenedLocks opened, KeeperOptions options, engine::TimeMs now,
         engine::Effects& effects);

  void BeginTurn(engine::TimeMs now);

  // The number of the batch that has to be complete before anything may be told of what was decided
  // up to now. What was decided since the last call is handed over as one batch.
  std::uint64_t Seal(engine::TimeMs now);
  // This one and all before it are complete.
  std::uint64_t completed_batch() const { return progress_.completed_batch; }

  void EndTurn(engine::TimeMs now);
  // When EndTurn has something to do though nothing happens.
  engine::TimeMs NextDeadline() const;

  // The journal has the first token block, and all that was loaded is there.
  bool is_ready() const { return is_ready_; }
  // Replies wait for a sync of few bytes, which is usually quick.
  bool awaits_quick_sync() const;
  // More was decided than the disk can take: decide nothing until the next wake.
  bool is_lagging() const;
  // The disk is nearly full: locks may be released and renewed, but not taken.
  bool is_short_of_space() const { return is_short_of_space_; }
  // A write failed. From now on nothing may be told that was not told yet.
  bool has_failed() const { return progress_.has_failed || !folder_.ok(); }
  // Why; never empty if it has failed.
  std::string failure() const {
    return folder_.ok() ? journal_.failure().message() : folder_.message();
  }

  KeeperState state() const {
    return {
        .is_ready = is_ready_, .is_short_of_space = is_short_of_space_, .has_failed = has_failed()};
  }

  // The end in good order: what is left of leases, and who waits, is written down, and then
  // everything is made durable, unless it has failed. Blocks. REQUIRES: all that may be told was
  // told.
  void Stop(engine::TimeMs now);
  // Blocks until the journal has written what it has.
  void AwaitJournal();

  // May be called by another thread.
  storage::Status BackUp(const std::string& path) const;
  storage::DatedBackup BackUpDated(const storage::DatedBackupOptions& options) const;

  const KeeperOptions& options() const { return options_; }
  void set_free_bytes_min(std::uint64_t bytes) { options_.free_bytes_min = bytes; }
  KeeperFigures Figures() const;

 private:
  bool keeps_locks() const { return options_.durability != Durability::kNone; }
  Moment MomentAt(engine::TimeMs now) const { return {now, options_.unix_ms()}; }
  void JudgeLastRun(const LoadedRows& rows);
  void BeginRun();
  std::uint64_t RunFlags() const;
  void NoteReady();
  void WatchNewest(engine::TimeMs now);
  // Hands the open batch to the journal. Returns whether it is complete, so that nothing waits for
  // it.
  bool Append(storage::AppendMode mode = storage::AppendMode::kGathered);
  void ReserveTokens();
  bool EndsDelay() const;
  void NoteDelayOver();
  void WriteSlice(engine::TimeMs now);
  void WriteMeta(storage::RecordWriter& record, std::uint64_t run_flags) const;
  void WriteLongLeases(engine::TimeMs now);
  void LookAtFolder(engine::TimeMs now);
  void LookAtSpace(engine::TimeMs now);

  engine::LockEngine& engine_;
  KeeperOptions options_;
  storage::OpenedData data_;
  storage::TokenBlocks tokens_;
  std::optional<BatchWriter> writer_;  // if locks are kept
  UndeliveredGrants undelivered_;
  storage::RecordWriter batch_;
  storage::RecordWriter slice_;
  storage::JournalProgress progress_;
  std::uint64_t newest_batch_ = 0;
  std::uint64_t token_batch_ = 0;  // that reserves next_ceiling_; 0: none is under way
  std::uint64_t next_ceiling_ = 0;
  std::uint64_t watched_batch_ = 0;  // 0: none
  engine::TimeMs watched_since_ = 0;
  std::uint64_t batches_timed_ = 0;
  engine::DurationMs batches_ms_ = 0;
  std::uint64_t bytes_since_snapshot_ = 0;
  std::uint64_t slice_bytes_ = 0;  // of the last snapshot
  std::uint64_t free_bytes_ = 0;
  std::uint64_t rows_loaded_ = 0;
  std::optional<std::uint64_t> snapshot_cursor_;  // while one is written
  std::optional<std::uint64_t> sweep_cursor_;     // while long leases are looked at
  engine::TimeMs sweep_from_ = 0;
  engine::TimeMs sweep_to_ = 0;
  std::optional<storage::FolderWatch> folder_watch_;  // once it is ready
  engine::TimeMs folder_at_ = 0;                      // when to look at the folder again
  engine::TimeMs space_at_ = 0;                       // when to look at the disk again
  std::uint64_t bytes_since_look_ = 0;
  engine::TimeMs grants_from_ = 0;  // the end of the start delay; 0: it is over, or there is none
  std::string boot_id_;
  storage::Status folder_;  // not settled, or not in its place any more
  bool may_have_lost_leases_ = false;
  bool is_ready_ = false;
  bool is_stopped_ = false;
  bool is_short_of_space_ = false;
  storage::Journal journal_;  // last: its threads end first
};

}  // namespace fairlock::persist
