#include "server/persist/keeper.h"

#include <algorithm>
#include <utility>

#include "server/persist/long_leases.h"
#include "server/persist/row_writer.h"
#include "storage/data_folder/backup.h"
#include "storage/data_folder/free_space.h"
#include "storage/records/rows.h"

namespace fairlock::persist {

namespace {

constexpr std::int64_t kBeginningOf2020 = 1'577'836'800;  // Unix seconds

// Handed over and not yet written; more makes the loop wait.
constexpr std::uint64_t kWaitingBytesMax = std::uint64_t{16} << 20;
// With more than this slices of snapshots wait, so that replies need not.
constexpr std::uint64_t kWaitingBytesOfSlices = kWaitingBytesMax / 4;
// More takes longer to sync, and had taken the clients longer to ask for.
constexpr std::uint64_t kQuickBytesMax = std::uint64_t{16} << 10;
// A turn grants fewer than this.
constexpr std::uint64_t kTokensOfATurn = std::uint64_t{1} << 18;
// A snapshot is taken when the batches since the last one have this size, or twice that of the
// snapshot.
constexpr std::uint64_t kBatchBytesMax = std::uint64_t{64} << 20;
constexpr std::size_t kLocksOfASlice = 2'000;
// The room on the disk is looked at so often, and when so much was handed over.
constexpr engine::DurationMs kSpaceEveryMs = 1'000;
constexpr engine::DurationMs kFolderEveryMs = 1'000;
constexpr std::uint64_t kSpaceEveryBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kNeverComplete = ~std::uint64_t{0};

std::uint64_t Ms2020(std::int64_t unix_ms) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(unix_ms - kBeginningOf2020 * 1000, 0));
}

std::uint64_t FirstTokenOf(const LoadedRows& rows, bool is_copy, const KeeperOptions& options) {
  const std::uint64_t clock_ms = Ms2020(options.unix_ms());
  return storage::FirstToken(
      {.stored_ceiling = std::max(rows.token_ceiling(), rows.newest_token() + 1),
       .seconds_since_2020 = clock_ms / 1000,
       .milliseconds = clock_ms % 1000,
       .is_copy = is_copy});
}

std::uint64_t NumberOf(std::uint64_t batch) { return batch != 0 ? batch : kNeverComplete; }

storage::JournalOptions JournalOptionsOf(const KeeperOptions& options) {
  storage::JournalOptions journal;
  journal.durability = StorageDurabilityOf(options.durability);
  journal.monotonic_ns = options.monotonic_ns;
  journal.awaits_begin = options.durability == Durability::kSync;
  journal.flush_interval = std::chrono::milliseconds(options.flush_interval_ms);
  return journal;
}

}  // namespace

Keeper::Keeper(engine::LockEngine& engine, OpenedLocks opened, KeeperOptions options,
               engine::TimeMs now, engine::Effects& effects)
    : engine_(engine),
      options_(std::move(options)),
      data_(std::move(opened.data)),
      tokens_(FirstTokenOf(*opened.rows, data_.directory.is_copy(), options_)),
      bytes_since_snapshot_(data_.end.batch_bytes),
      slice_bytes_(data_.end.slice_bytes),
      sweep_from_(now),
      boot_id_(storage::BootId()),
      journal_(*data_.store, data_.end, JournalOptionsOf(options_), options_.wake) {
  JudgeLastRun(*opened.rows);
  if (keeps_locks()) {
    opened.rows->RestoreInto(
        engine_,
        {.now = now, .unix_ms = options_.unix_ms(), .restart_grace_ms = options_.restart_grace_ms});
    rows_loaded_ = opened.rows->size();
  }
  engine_.EndRestore(tokens_.ceiling(), {now, effects});
  if (may_have_lost_leases_ && options_.start_delay_ms > 0) {
    grants_from_ = now + options_.start_delay_ms;
    engine_.DelayGrantsUntil(grants_from_);
  }
  if (keeps_locks()) writer_.emplace(engine_);
  if (writer_ && opened.rows->has_long_leases()) writer_->set_has_long_leases();
  BeginRun();
}

void Keeper::JudgeLastRun(const LoadedRows& rows) {
  const auto did = [&](std::uint64_t flag) { return (rows.last_run_flags() & flag) != 0; };
  const bool is_first = rows.token_ceiling() == 0;
  const bool is_same_boot = !boot_id_.empty() && boot_id_ == rows.last_boot_id();
  const bool has_lost_power =
      !did(storage::kLastRunStoppedCleanly) && !did(storage::kLastRunSynced) && !is_same_boot;
  const bool has_lost = !is_first && (!did(storage::kLastRunPersistedLocks) || has_lost_power);
  may_have_lost_leases_ = has_lost || did(storage::kLastRunDelayedGrants) ||
                          data_.directory.is_copy() || !keeps_locks();
}

void Keeper::BeginRun() {
  next_ceiling_ = tokens_.next_ceiling();
  if (!keeps_locks()) {
    // What an earlier run kept is not true any more.
    journal_.BeginSnapshot();
    WriteMeta(slice_, RunFlags());
    journal_.AppendSlice(slice_);
    journal_.FinishSnapshot();
    bytes_since_snapshot_ = 0;
  }
  WriteMeta(batch_, RunFlags());
  Append(storage::AppendMode::kDurable);
  token_batch_ = newest_batch_;
  journal_.Begin();
}

std::uint64_t Keeper::RunFlags() const {
  std::uint64_t flags = keeps_locks() ? storage::kLastRunPersistedLocks : 0;
  if (options_.durability == Durability::kSync) flags |= storage::kLastRunSynced;
  if (grants_from_ != 0) flags |= storage::kLastRunDelayedGrants;
  return flags;
}

void Keeper::WriteMeta(storage::RecordWriter& record, std::uint64_t run_flags) const {
  PutRow(record, storage::MetaRow{.name = storage::MetaName::kTokenCeiling,
                                  .number = std::max(next_ceiling_, tokens_.ceiling())});
  PutRow(record, storage::MetaRow{
                     .name = storage::MetaName::kLastRun, .number = run_flags, .text = boot_id_});
}

bool Keeper::Append(storage::AppendMode mode) {
  // While other batches are in progress, their replies come first, in the order of the batches.
  if (mode == storage::AppendMode::kAtOnce && newest_batch_ != progress_.completed_batch) {
    mode = storage::AppendMode::kGathered;
  }
  bytes_since_snapshot_ += batch_.size();
  bytes_since_look_ += batch_.size();
  const storage::Appended appended = journal_.Append(batch_, mode);
  newest_batch_ = NumberOf(appended.batch);
  if (appended.is_complete) progress_ = journal_.Look();
  return appended.is_complete;
}

void Keeper::BeginTurn(engine::TimeMs now) {
  if (now >= folder_at_) LookAtFolder(now);
  // Writes to files that are gone are not revealed to clients, even if they are complete.
  if (!folder_.ok()) return;
  progress_ = journal_.Look();
  if (watched_batch_ != 0 && progress_.completed_batch >= watched_batch_) {
    ++batches_timed_;
    batches_ms_ += now - watched_since_;
    watched_batch_ = 0;
  }
  if (!is_stopped_) undelivered_.Delay(engine_, progress_.completed_batch, now);
  if (token_batch_ != 0 && progress_.completed_batch >= token_batch_) {
    tokens_.Reserved(next_ceiling_);
    token_batch_ = 0;
    if (!is_ready_) NoteReady();
  }
  if (EndsDelay() && now >= grants_from_) NoteDelayOver();
}

void Keeper::NoteReady() {
  // The raised ceiling is durable, so the folder may count as an original.
  if (data_.directory.is_copy()) folder_ = data_.directory.Settle();
  if (folder_.ok()) {
    auto watch = storage::FolderWatch::Begin(data_.directory.path());
    if (watch.ok()) {
      folder_watch_.emplace(std::move(watch.value()));
    } else {
      folder_ = watch.status();
    }
  }
  is_ready_ = folder_.ok();
}

void Keeper::LookAtFolder(engine::TimeMs now) {
  if (!folder_watch_ || is_stopped_ || has_failed()) return;
  folder_at_ = now + kFolderEveryMs;
  folder_ = folder_watch_->Look();
  if (folder_.ok()) folder_ = data_.store->LookForFiles();
  if (!folder_.ok()) journal_.Fail(folder_);
}

void Keeper::WatchNewest(engine::TimeMs now) {
  if (watched_batch_ != 0) return;
  watched_batch_ = newest_batch_;
  watched_since_ = now;
}

std::uint64_t Keeper::Seal(engine::TimeMs now) {
  if (is_stopped_) return newest_batch_;
  if (!writer_) return 0;
  if (writer_->has_changes()) {
    GrantsOfBatch grants;
    writer_->Write(MomentAt(now), batch_, grants);
    if (!batch_.empty()) {
      if (Append(storage::AppendMode::kAtOnce)) {
        ++batches_timed_;
      } else {
        WatchNewest(now);
        undelivered_.Add(newest_batch_, now, std::move(grants));
      }
    }
  }
  // After what this turn has decided and before it sends: the disk works while replies leave.
  journal_.Begin();
  return newest_batch_;
}

void Keeper::EndTurn(engine::TimeMs now) {
  Seal(now);
  if (!is_ready_ || is_stopped_ || has_failed()) return;
  if (token_batch_ == 0 && tokens_.NeedsBlock(engine_.next_token())) ReserveTokens();
  if (writer_) {
    WriteLongLeases(now);
    WriteSlice(now);
  }
  journal_.Begin();
  if (now >= space_at_ || bytes_since_look_ >= kSpaceEveryBytes) LookAtSpace(now);
}

void Keeper::ReserveTokens() {
  next_ceiling_ = tokens_.next_ceiling();
  WriteMeta(batch_, RunFlags());
  Append(storage::AppendMode::kDurable);
  token_batch_ = newest_batch_;
}

bool Keeper::EndsDelay() const {
  return grants_from_ != 0 && is_ready_ && !is_stopped_ && !has_failed();
}

// Until this is written, the next run starts the delay again. It precedes what is granted now.
void Keeper::NoteDelayOver() {
  grants_from_ = 0;
  WriteMeta(batch_, RunFlags());
  Append();
}

void Keeper::WriteSlice(engine::TimeMs now) {
  if (!snapshot_cursor_) {
    if (bytes_since_snapshot_ < std::max(kBatchBytesMax, 2 * slice_bytes_)) return;
    journal_.BeginSnapshot();
    snapshot_cursor_ = 0;
    bytes_since_snapshot_ = slice_bytes_ = 0;
    WriteMeta(slice_, RunFlags());
    writer_->WriteLimits(MomentAt(now), slice_);
  }
  if (journal_.depth().bytes > kWaitingBytesOfSlices) return;
  RowWriter rows(slice_);
  const std::uint64_t next = engine_.ScanRows(*snapshot_cursor_, kLocksOfASlice, {}, now, rows);
  slice_bytes_ += slice_.size();
  journal_.AppendSlice(slice_);
  snapshot_cursor_ = next;
  if (next != 0) return;
  snapshot_cursor_.reset();
  journal_.FinishSnapshot();
}

void Keeper::WriteLongLeases(engine::TimeMs now) {
  if (!sweep_cursor_) {
    if (!writer_->has_long_leases() || now < sweep_from_ + kLongLeaseSweepMs) return;
    sweep_cursor_ = 0;
    sweep_to_ = now;
  }
  RowWriter rows(batch_);
  const std::uint64_t next = engine_.ScanLongLeases(*sweep_cursor_, kLocksOfASlice, kLongLeaseMs,
                                                    sweep_from_, sweep_to_, rows);
  if (!batch_.empty()) Append();
  sweep_cursor_ = next;
  if (next != 0) return;
  sweep_cursor_.reset();
  sweep_from_ = sweep_to_;
}

void Keeper::LookAtSpace(engine::TimeMs now) {
  space_at_ = now + kSpaceEveryMs;
  bytes_since_look_ = 0;
  const auto free_bytes = storage::FreeBytes(options_.path);
  if (!free_bytes.ok()) return;
  free_bytes_ = free_bytes.value() - std::min(free_bytes.value(), journal_.depth().bytes);
  is_short_of_space_ = free_bytes_ < options_.free_bytes_min;
}

engine::TimeMs Keeper::NextDeadline() const {
  if (snapshot_cursor_ || sweep_cursor_) {
    // What the journal completes is a reason for a turn too.
    return journal_.depth().bytes > kWaitingBytesOfSlices ? engine::kNever : 0;
  }
  engine::TimeMs next = engine::kNever;
  if (writer_ && writer_->has_long_leases()) next = sweep_from_ + kLongLeaseSweepMs;
  if (is_ready_ && !is_stopped_ && !has_failed()) next = std::min(next, folder_at_);
  // Whether there is room again.
  if (is_short_of_space_) next = std::min(next, space_at_);
  if (EndsDelay()) next = std::min(next, grants_from_);
  return next;
}

bool Keeper::is_lagging() const {
  return engine_.next_token() + kTokensOfATurn >= tokens_.ceiling() ||
         journal_.depth().bytes > kWaitingBytesMax;
}

bool Keeper::awaits_quick_sync() const {
  return options_.durability == Durability::kSync && !has_failed() &&
         newest_batch_ > progress_.completed_batch && journal_.is_quick() &&
         journal_.depth().bytes <= kQuickBytesMax;
}

void Keeper::AwaitJournal() {
  journal_.AwaitWritten();
  if (folder_.ok()) progress_ = journal_.Look();
}

void Keeper::Stop(engine::TimeMs now) {
  LookAtFolder(now);
  if (has_failed()) return;
  Seal(now);
  const std::uint64_t flags = RunFlags() | storage::kLastRunStoppedCleanly;
  if (writer_) {
    journal_.BeginSnapshot();
    WriteMeta(slice_, flags);
    writer_->WriteLimits(MomentAt(now), slice_);
    std::uint64_t cursor = 0;
    do {
      RowWriter rows(slice_);
      cursor = engine_.ScanRows(cursor, kLocksOfASlice,
                                {.with_time_left = true, .with_all_places = true}, now, rows);
      journal_.AppendSlice(slice_);
      if (journal_.depth().bytes > kWaitingBytesMax) journal_.AwaitWritten();
    } while (cursor != 0);
    journal_.FinishSnapshot();
    writer_.reset();  // the state is final
  } else {
    WriteMeta(batch_, flags);
    Append(storage::AppendMode::kDurable);
  }
  journal_.Stop();
  progress_ = journal_.Look();
  is_stopped_ = true;
}

storage::Status Keeper::BackUp(const std::string& path) const {
  return storage::BackUp(data_, path);
}

storage::DatedBackup Keeper::BackUpDated(const storage::DatedBackupOptions& options) const {
  return storage::BackUpDated(data_, options);
}

KeeperFigures Keeper::Figures() const {
  return {.newest_batch = newest_batch_,
          .completed_batch = progress_.completed_batch,
          .durable_batch = progress_.durable_batch,
          .bytes_waiting = journal_.depth().bytes,
          .snapshots = progress_.snapshot,
          .rows_loaded = rows_loaded_,
          .free_bytes = free_bytes_,
          .batches_timed = batches_timed_,
          .batches_ms = batches_ms_,
          .watched_since = watched_batch_ == 0 ? 0 : watched_since_,
          .syncs = journal_.sync_times(),
          .is_snapshot_under_way = snapshot_cursor_.has_value(),
          .may_have_lost_leases = may_have_lost_leases_};
}

}  // namespace fairlock::persist
