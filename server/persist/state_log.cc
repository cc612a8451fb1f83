#include "server/persist/state_log.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "server/persist/persist_limits.h"
#include "storage/data_folder/file_identity.h"
#include "storage/records/rows.h"

namespace fairlock::persist {

namespace {

constexpr std::int64_t kBeginningOf2020 = 1'577'836'800;  // Unix seconds

// A sync of at most this many bytes counts as quick. A larger batch takes longer to sync, and its
// clients took longer to send their requests.
constexpr std::uint64_t kQuickBytesMax = std::uint64_t{16} << 10;
// An upper bound on the number of grants in a turn.
constexpr std::uint64_t kTokensOfATurn = std::uint64_t{1} << 18;
constexpr engine::DurationMs kCheckHomeEveryMs = 1'000;
// With confirms_replies, an idle log writes a confirmation at this interval, so that other nodes
// know that this one leads.
constexpr engine::DurationMs kBeatEveryMs = 500;
constexpr std::uint64_t kNeverComplete = ~std::uint64_t{0};

std::uint64_t Ms2020(std::int64_t unix_ms) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(unix_ms - kBeginningOf2020 * 1000, 0));
}

std::uint64_t FirstTokenOf(const LoadedRows& rows, bool is_copy, const StateLogOptions& options) {
  const std::uint64_t clock_ms = Ms2020(options.unix_ms());
  return storage::FirstToken(
      {.stored_ceiling = std::max(rows.token_ceiling(), rows.newest_token() + 1),
       .seconds_since_2020 = clock_ms / 1000,
       .milliseconds = clock_ms % 1000,
       .is_copy = is_copy});
}

std::uint64_t NumberOf(std::uint64_t batch) { return batch != 0 ? batch : kNeverComplete; }

storage::JournalOptions JournalOptionsOf(const StateLogOptions& options) {
  storage::JournalOptions journal;
  journal.durability = StorageDurabilityOf(options.durability);
  journal.monotonic_ns = options.monotonic_ns;
  journal.awaits_begin = options.durability == Durability::kSync;
  // A larger etcd transaction takes longer, and all replies wait for it.
  if (options.confirms_replies) journal.group_bytes_max = std::size_t{64} << 10;
  journal.flush_interval = std::chrono::milliseconds(options.flush_interval_ms);
  return journal;
}

}  // namespace

StateLog::StateLog(engine::LockEngine& engine, storage::LogHome& home, const LoadedRows& rows,
                   StateLogOptions options, engine::Step step)
    : engine_(engine),
      home_(home),
      options_(std::move(options)),
      tokens_(FirstTokenOf(rows, home_.is_copy(), options_)),
      space_(options_.free_bytes_min),
      boot_id_(storage::BootId()),
      journal_(home_.store(), home_.end(), JournalOptionsOf(options_), options_.wake),
      snapshot_(engine_, value_writer_, journal_, home_.end(), options_.snapshots),
      sweep_(engine_, options_.snapshots.locks_of_a_slice, step.now) {
  assert(engine_.counts().locks == 0);
  JudgeLastRun(rows);
  if (keeps_locks()) {
    const engine::DurationMs longest_ms =
        rows.RestoreInto(engine_, {.now = step.now,
                                   .unix_ms = options_.unix_ms(),
                                   .restart_grace_ms = options_.restart_grace_ms,
                                   .counts_down = options_.confirms_replies});
    rows_loaded_ = rows.size();
    if (options_.confirms_replies) {
      served_.emplace(rows.served_ms(), step.now, step.now + longest_ms);
    }
  }
  engine_.restoration().EndRestore(tokens_.ceiling(), step);
  const engine::DurationMs delay_ms =
      std::max(grant_delay_ms_, may_have_lost_leases_ ? options_.start_delay_ms : 0);
  if (delay_ms > 0) {
    grants_from_ = step.now + delay_ms;
    engine_.limits().DelayGrantsUntil(grants_from_);
  }
  if (keeps_locks()) {
    writer_.emplace(engine_, step.now);
    if (options_.values != nullptr) {
      rows.RestoreInto(*options_.values, step.now);
      value_writer_.emplace(*options_.values);
    }
  }
  if (writer_ && rows.has_long_leases()) writer_->set_has_long_leases();
  BeginRun();
}

void StateLog::JudgeLastRun(const LoadedRows& rows) {
  const auto did = [&](std::uint64_t flag) { return (rows.last_run().flags & flag) != 0; };
  const bool is_first = rows.token_ceiling() == 0;
  const bool is_same_boot = !boot_id_.empty() && boot_id_ == rows.last_run().boot_id;
  const bool has_lost_power =
      !did(storage::kLastRunStoppedCleanly) && !did(storage::kLastRunSynced) && !is_same_boot;
  const bool has_lost = !is_first && (!did(storage::kLastRunPersistedLocks) || has_lost_power);
  grant_delay_ms_ = rows.last_run().grant_delay_ms;
  may_have_lost_leases_ = has_lost || grant_delay_ms_ > 0 || did(storage::kLastRunDelayedGrants) ||
                          home_.is_copy() || !keeps_locks();
}

void StateLog::BeginRun() {
  tokens_.Prepare();
  if (!keeps_locks()) {
    // Locks are not stored in this run, so those stored by an earlier run must not come back.
    snapshot_.WriteEmpty([this](auto& slice) { WriteMeta(slice, RunFlags()); });
  }
  WriteMeta(batch_, RunFlags());
  if (served_) served_->WriteBegin(batch_);
  Append(storage::AppendMode::kDurable);
  tokens_.Begin(newest_batch_);
  journal_.Begin();
}

std::uint64_t StateLog::RunFlags() const {
  std::uint64_t flags = keeps_locks() ? storage::kLastRunPersistedLocks : 0;
  if (options_.durability == Durability::kSync) flags |= storage::kLastRunSynced;
  if (grants_from_ != 0) flags |= storage::kLastRunDelayedGrants;
  return flags;
}

void StateLog::WriteMeta(storage::RecordWriter& record, std::uint64_t run_flags) const {
  PutRow(record, storage::MetaRow{.name = storage::MetaName::kTokenCeiling,
                                  .number = tokens_.stored_ceiling()});
  PutRow(record, storage::MetaRow{
                     .name = storage::MetaName::kLastRun, .number = run_flags, .text = boot_id_});
  if (grant_delay_ms_ > 0) WriteGrantDelay(record);
}

void StateLog::WriteGrantDelay(storage::RecordWriter& record) const {
  PutRow(record, storage::MetaRow{.name = storage::MetaName::kGrantDelay,
                                  .number = static_cast<std::uint64_t>(grant_delay_ms_)});
}

// The rows of a snapshot that do not belong to locks.
void StateLog::WriteHead(storage::RecordWriter& slice, std::uint64_t run_flags,
                         const Moment& moment) {
  WriteMeta(slice, run_flags);
  if (served_) served_->Write(moment.now, slice);
  writer_->WriteLimits(moment, slice);
}

bool StateLog::Append(storage::AppendMode mode) {
  // While other batches are in progress, this one must wait: replies are sent in the order of the
  // batches.
  if (mode == storage::AppendMode::kAtOnce && newest_batch_ != progress_.completed_batch) {
    mode = storage::AppendMode::kGathered;
  }
  assert(!batch_.empty());
  snapshot_.CountBatch(batch_.size());
  space_.CountWritten(batch_.size());
  const storage::Appended appended = journal_.Append(batch_, mode);
  assert(batch_.empty());
  newest_batch_ = NumberOf(appended.batch);
  if (appended.is_complete) progress_ = journal_.Look();
  return appended.is_complete;
}

void StateLog::BeginTurn(engine::TimeMs now) {
  AssertInLoop();
  if (now >= due_.home) CheckHome(now);
  // If the files are gone, no further batch counts as complete, so none is revealed to clients.
  if (!home_status_.ok()) return;
  progress_ = journal_.Look();
  assert(progress_.completed_batch <= newest_batch_);  // nothing is complete before it began
  times_.Complete(progress_.completed_batch, now);
  is_unsure_ = now >= UnsureFrom();
  if (!is_stopped_) undelivered_.Delay(engine_, progress_.completed_batch, now);
  if (tokens_.Complete(progress_.completed_batch)) {
    if (!is_ready_) home_status_ = home_.Settle();
    is_ready_ = home_status_.ok();
    if (options_.confirms_replies) due_.beat = now;
  }
  if (grants_from_ != 0 && is_running() && now >= grants_from_) LogDelayOver();
}

void StateLog::CheckHome(engine::TimeMs now) {
  if (!is_running()) return;
  due_.home = now + kCheckHomeEveryMs;
  home_status_ = home_.Check();
  if (!home_status_.ok()) journal_.Fail(home_status_);
}

std::uint64_t StateLog::Seal(engine::TimeMs now) {
  AssertInLoop();
  if (is_stopped_) return newest_batch_;
  if (!writer_) return 0;
  HandOverChanges(now);
  if (options_.confirms_replies) {
    // All replies of the turn share one confirmation, so it is requested at the end of the turn.
    Confirm(now);
  } else {
    // The journal begins after the decisions of this turn and before the turn sends, so that the
    // disk works while replies are sent.
    journal_.Begin();
  }
  return newest_batch_;
}

void StateLog::HandOverChanges(engine::TimeMs now) {
  if (is_stopped_ || !writer_ || !has_changes()) return;
  GrantsOfBatch grants;
  writer_->Write(MomentAt(now), batch_, grants);
  if (value_writer_) value_writer_->Write(batch_);
  if (batch_.empty()) return;
  if (Append(storage::AppendMode::kAtOnce)) {
    times_.CountAtOnce();
  } else {
    times_.Begin(newest_batch_, now);
    undelivered_.Add(newest_batch_, now, std::move(grants));
  }
}

void StateLog::Confirm(engine::TimeMs now) {
  newest_batch_ = NumberOf(journal_.Confirm());
  times_.Begin(newest_batch_, now);
  due_.beat = now + kBeatEveryMs;
}

engine::TimeMs StateLog::UnsureFrom() const {
  const bool is_waiting = options_.confirms_replies && times_.since() != 0;
  return is_waiting ? times_.since() + kUnsureAfterMs : engine::kNever;
}

void StateLog::EndTurn(engine::TimeMs now) {
  AssertInLoop();
  HandOverChanges(now);
  if (!is_running()) {
    if (!is_stopped_) journal_.Begin();
    return;
  }
  if (now >= due_.beat) Confirm(now);
  if (tokens_.IsDue(engine_.next_token())) ReserveTokens();
  if (writer_) {
    if (writer_->has_long_leases()) sweep_.Advance(now, batch_);
    if (served_ && now >= served_->NextDeadline()) served_->Write(now, batch_);
    if (!batch_.empty()) Append();
    snapshot_.Advance(now, [&](auto& slice) { WriteHead(slice, RunFlags(), MomentAt(now)); });
  }
  journal_.Begin();
  space_.Look(home_, journal_.depth().bytes, now);
}

void StateLog::ReserveTokens() {
  tokens_.Prepare();
  WriteMeta(batch_, RunFlags());
  Append(storage::AppendMode::kDurable);
  tokens_.Begin(newest_batch_);
}

// Logs that the start delay is over. Until this is written, the next run delays grants again. It is
// written before the grants that follow.
void StateLog::LogDelayOver() {
  grants_from_ = 0;
  if (std::exchange(grant_delay_ms_, 0) > 0) WriteGrantDelay(batch_);
  WriteMeta(batch_, RunFlags());
  Append();
}

engine::TimeMs StateLog::NextDeadline() const {
  if (snapshot_.is_in_progress() || sweep_.is_in_progress()) {
    // While the snapshot is held up, progress of the journal causes a turn, so none is scheduled.
    return snapshot_.IsHeldUp() ? engine::kNever : 0;
  }
  engine::TimeMs next = space_.NextDeadline();
  if (writer_ && writer_->has_long_leases()) next = std::min(next, sweep_.NextDeadline());
  if (is_running()) {
    next = std::min({next, due_.home, due_.beat});
    if (!is_unsure_) next = std::min(next, UnsureFrom());
    if (served_) next = std::min(next, served_->NextDeadline());
    if (grants_from_ != 0) next = std::min(next, grants_from_);
  }
  return next;
}

bool StateLog::is_lagging() const {
  return engine_.next_token() + kTokensOfATurn >= tokens_.ceiling() ||
         journal_.depth().bytes > kWaitingBytesMax;
}

bool StateLog::awaits_quick_sync() const {
  return options_.durability == Durability::kSync && !has_failed() &&
         newest_batch_ > progress_.completed_batch && journal_.is_quick() &&
         journal_.depth().bytes <= kQuickBytesMax;
}

StateLogState StateLog::state() const {
  return {.is_ready = is_ready_,
          .is_short_of_space = space_.is_short(),
          .has_failed = has_failed(),
          .is_unsure = is_unsure_};
}

bool StateLog::AwaitJournal(engine::DurationMs unconfirmed_ms_max) {
  const engine::DurationMs ms_max =
      options_.confirms_replies ? unconfirmed_ms_max : storage::Journal::kAwaitMsMax;
  const bool is_written = journal_.AwaitWritten(ms_max);
  if (home_status_.ok()) progress_ = journal_.Look();
  return is_written;
}

void StateLog::Stop(engine::TimeMs now) {
  AssertInLoop();
  CheckHome(now);
  if (has_failed()) return;
  Seal(now);
  const std::uint64_t flags = RunFlags() | storage::kLastRunStoppedCleanly;
  if (options_.confirms_replies) {
    if (served_) {
      served_->Write(now, batch_);
      Append();
    }
    EndWriters();  // the log has everything that the next leader needs
  } else if (writer_) {
    snapshot_.WriteFinal(now, [&](auto& slice) { WriteHead(slice, flags, MomentAt(now)); });
    EndWriters();  // the state is final
  } else {
    WriteMeta(batch_, flags);
    Append(storage::AppendMode::kDurable);
  }
  journal_.Stop();
  progress_ = journal_.Look();
  is_stopped_ = true;
}

void StateLog::EndWriters() {
  writer_.reset();
  value_writer_.reset();
}

StateLogFigures StateLog::Figures() const {
  return {.newest_batch = newest_batch_,
          .completed_batch = progress_.completed_batch,
          .durable_batch = progress_.durable_batch,
          .bytes_waiting = journal_.depth().bytes,
          .snapshots = progress_.snapshot,
          .rows_loaded = rows_loaded_,
          .free_bytes = space_.free_bytes(),
          .batches_timed = times_.count(),
          .batches_ms = times_.sum_ms(),
          .watched_since = times_.since(),
          .syncs = journal_.sync_times(),
          .is_snapshot_under_way = snapshot_.is_in_progress(),
          .may_have_lost_leases = may_have_lost_leases_};
}

void Confirmation::See(const StateLogState& state, engine::TimeMs now) {
  AssertInLoop();
  is_unsure_ = state.is_unsure || state.has_failed;
  const bool is_confirmed = state.is_ready && !state.is_unsure;
  if (is_confirmed || state.has_failed) {
    since_ = close_at_ = engine::kNever;
    has_closed_ = false;
    return;
  }
  since_ = std::min(since_, now - (state.is_unsure ? kUnsureAfterMs : 0));
  if (close_at_ == engine::kNever) close_at_ = now + kCloseEveryMs;
  assert(stops_leases());
}

bool Confirmation::NoteClosed(engine::TimeMs now) {
  AssertInLoop();
  close_at_ = now + kCloseEveryMs;
  return !std::exchange(has_closed_, true);
}

engine::DurationMs Confirmation::unconfirmed_ms(engine::TimeMs now) const {
  return std::max<engine::DurationMs>(now - std::min(since_, now), 0);
}

}  // namespace fairlock::persist
