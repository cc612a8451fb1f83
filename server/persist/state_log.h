// The log of the lock engine's decisions: hands each turn's changes to the journal, and reports
// which replies may be sent.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "contracts/loop_confined.h"
#include "server/engine/containers/time.h"
#include "server/engine/lock_engine.h"
#include "server/persist/batch_writer.h"
#include "server/persist/loaded_rows.h"
#include "server/persist/persist_limits.h"
#include "server/persist/served_time.h"
#include "server/persist/snapshot_task.h"
#include "server/persist/space_check.h"
#include "server/persist/token_reservation.h"
#include "server/persist/value_writer.h"
#include "storage/log/journal.h"
#include "storage/log/log_home.h"

namespace fairlock::persist {

enum class Durability : std::uint8_t {
  kNone,   // only tokens are stored; locks that an earlier run has stored are erased
  kAsync,  // a reply waits for the write to the operating system
  kSync    // a reply waits for the sync, so the state that it reports survives a power failure
};

// The durability of every batch.
inline storage::Durability StorageDurabilityOf(Durability durability) {
  return durability == Durability::kSync ? storage::Durability::kMachine
                                         : storage::Durability::kProcess;
}

// A log that confirms replies is unsure after this time without a completed write.
constexpr engine::DurationMs kUnsureAfterMs = 2'000;
// For how long a leader that is unsure keeps the connections of its clients.
constexpr engine::DurationMs kKeepUnsureMs = 3'000;

struct StateLogOptions {
  Durability durability = Durability::kAsync;
  engine::DurationMs flush_interval_ms = 100;
  std::uint64_t free_bytes_min = 0;  // with less free space, no new locks are accepted
  engine::DurationMs restart_grace_ms = 30'000;
  // How long grants are delayed after a start at which leases may have been lost.
  engine::DurationMs start_delay_ms = 0;
  // Set this if another process may take over the log. Every reply that reveals the state of locks
  // then waits for a write that began after the reply was made, which proves that no process had
  // taken over by then. Requires kSync.
  bool confirms_replies = false;
  SnapshotPace snapshots = {};
  // The values that are stored beside the locks; null: there are none. Must outlive the log.
  values::ValueStore* values = nullptr;
  // Called by the journal's threads when BeginTurn has something to do.
  std::function<void()> wake;
  std::function<std::int64_t()> unix_ms;
  // The clock with which syncs are timed; may be called by the journal's threads.
  std::function<std::uint64_t()> monotonic_ns;
};

struct StateLogState {
  bool is_ready = false;
  bool is_short_of_space = false;
  bool has_failed = false;
  // With confirms_replies: there has been no confirmation for so long that another process may
  // lead.
  bool is_unsure = false;

  friend bool operator==(const StateLogState&, const StateLogState&) = default;
};

// For INFO.
struct StateLogFigures {
  std::uint64_t newest_batch = 0;     // the newest batch that was handed over
  std::uint64_t completed_batch = 0;  // replies up to this batch may be sent
  std::uint64_t durable_batch = 0;    // this batch and all before it survive a power failure
  std::uint64_t bytes_waiting = 0;    // bytes that the journal has not written yet
  std::uint64_t snapshots = 0;        // the generation of the newest snapshot
  std::uint64_t rows_loaded = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t batches_timed = 0;
  engine::DurationMs batches_ms = 0;  // from hand-over to completion, summed over all timed batches
  engine::TimeMs watched_since = 0;  // when the batch being timed was handed over; 0: no such batch
  storage::SyncTimes syncs;
  bool is_snapshot_under_way = false;
  bool may_have_lost_leases = false;
};

// A turn calls BeginTurn before it decides anything, Seal whenever a reply is about to be sent, and
// EndTurn at its end. Loop-confined, except for the wake function.
class StateLog : contracts::LoopConfined {
 public:
  // Restores the loaded locks into the engine, which must be empty, and begins to write. Nothing
  // may be granted before is_ready. `home` must outlive the log.
  StateLog(engine::LockEngine& engine, storage::LogHome& home, const LoadedRows& rows,
           StateLogOptions options, engine::Step step);

  void BeginTurn(engine::TimeMs now);

  // Hands over what was decided since the last call as one batch. Returns the number of the batch,
  // or confirmation, that must be complete before a reply may reveal anything decided so far.
  std::uint64_t Seal(engine::TimeMs now);
  // The newest complete batch; all before it are complete too.
  std::uint64_t completed_batch() const { return progress_.completed_batch; }

  void EndTurn(engine::TimeMs now);
  // When EndTurn must be called even if nothing happens.
  engine::TimeMs NextDeadline() const;

  // Whether the loaded state and the first token ceiling are durable.
  bool is_ready() const { return is_ready_; }
  // Whether replies wait for a small sync, which is usually quick.
  bool awaits_quick_sync() const;
  // Whether the journal is so far behind that nothing more may be decided until the next wake.
  bool is_lagging() const;
  // The reason why writing failed; ok: it has not failed. After a failure, no further reply may be
  // sent.
  storage::Status failure() const { return home_status_.ok() ? journal_.failure() : home_status_; }
  StateLogState state() const;

  // Ends the log in an orderly way: unless writing has failed, stores the time left of leases and
  // all waiting places, and makes everything durable. Blocks. REQUIRES: all replies that may be
  // sent have been sent.
  void Stop(engine::TimeMs now);
  // Blocks until the journal has written everything that was handed to it. A log that confirms
  // replies does so for at most that long; returns false if it was not long enough.
  bool AwaitJournal(engine::DurationMs unconfirmed_ms_max = storage::Journal::kAwaitMsMax);

  void set_free_bytes_min(std::uint64_t bytes) { space_.set_free_bytes_min(bytes); }
  StateLogFigures Figures() const;

 private:
  bool keeps_locks() const { return options_.durability != Durability::kNone; }
  bool has_changes() const {
    return writer_->has_changes() || (value_writer_ && value_writer_->has_changes());
  }
  bool has_failed() const { return progress_.has_failed || !home_status_.ok(); }
  bool is_running() const { return is_ready_ && !is_stopped_ && !has_failed(); }
  Moment MomentAt(engine::TimeMs now) const { return {now, options_.unix_ms()}; }
  void JudgeLastRun(const LoadedRows& rows);
  void BeginRun();
  std::uint64_t RunFlags() const;
  // Hands the open batch to the journal. Returns whether it is already complete, in which case no
  // reply waits for it.
  bool Append(storage::AppendMode mode = storage::AppendMode::kGathered);
  void HandOverChanges(engine::TimeMs now);
  void Confirm(engine::TimeMs now);
  engine::TimeMs UnsureFrom() const;
  void ReserveTokens();
  void LogDelayOver();
  void WriteMeta(storage::RecordWriter& record, std::uint64_t run_flags) const;
  void WriteGrantDelay(storage::RecordWriter& record) const;
  void WriteHead(storage::RecordWriter& slice, std::uint64_t run_flags, const Moment& moment);
  void CheckHome(engine::TimeMs now);
  void EndWriters();

  engine::LockEngine& engine_;
  storage::LogHome& home_;
  const StateLogOptions options_;
  TokenReservation tokens_;
  std::optional<BatchWriter> writer_;  // none: locks are not stored
  std::optional<ValueWriter> value_writer_;
  std::optional<ServedTime> served_;  // with confirms_replies
  UndeliveredGrants undelivered_;
  storage::RecordWriter batch_;
  storage::JournalProgress progress_;
  std::uint64_t newest_batch_ = 0;
  std::uint64_t rows_loaded_ = 0;
  BatchTimes times_;
  SpaceCheck space_;
  struct {
    engine::TimeMs home = 0;               // when to check the home again
    engine::TimeMs beat = engine::kNever;  // with confirms_replies: when an idle log confirms
  } due_;
  engine::TimeMs grants_from_ = 0;  // the end of the start delay; 0: it is over, or there is none
  engine::DurationMs grant_delay_ms_ = 0;  // of salvaged locks, while it runs
  std::string boot_id_;
  storage::Status home_status_;
  bool may_have_lost_leases_ = false;
  bool is_ready_ = false;
  bool is_stopped_ = false;
  bool is_unsure_ = false;
  storage::Journal journal_;
  SnapshotTask snapshot_;
  LongLeaseSweep sweep_;
};

// What a leader does while its home does not confirm that it leads.
//
// Such a leader may have been replaced, and nobody can renew a lease there. So:
// - From the take-over until the first confirmation, and whenever it is unsure, leases stand still.
// - When that has lasted for some seconds, it acts towards its clients as if another node led: it
//   closes their connections, so that none of them waits here, and they ask elsewhere. It does so
//   again and again, for those that have connected since. Its state stays until etcd decides.
//
// All times are of a clock that does not stand still.
class Confirmation : contracts::LoopConfined {
 public:
  // How long it waits before it closes the connections, and between two times. A leader is unsure
  // only after kUnsureAfterMs.
  static constexpr engine::DurationMs kCloseEveryMs = kKeepUnsureMs;

  // Call this when the log begins, and whenever its state changes.
  void See(const StateLogState& state, engine::TimeMs now);

  bool stops_leases() const { return since_ != engine::kNever; }
  // When the connections of all clients must be closed; kNever: not.
  engine::TimeMs close_at() const { return close_at_; }
  // Call this when they are. Returns whether it is the first time since the last confirmation.
  bool NoteClosed(engine::TimeMs now);
  // Whether another node may lead, so that this one must not be called the leader.
  bool is_unsure() const { return is_unsure_ || has_closed_; }
  // How long nothing has been confirmed; 0: everything is.
  engine::DurationMs unconfirmed_ms(engine::TimeMs now) const;

 private:
  engine::TimeMs since_ = engine::kNever;  // about the last confirmation; kNever: it is confirmed
  engine::TimeMs close_at_ = engine::kNever;
  bool is_unsure_ = false;
  bool has_closed_ = false;
};

}  // namespace fairlock::persist
