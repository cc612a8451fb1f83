#include "server/services/persistence_service.h"

#include <algorithm>
#include <utility>

#include "server/command/table/duration_text.h"
#include "server/net/clock.h"
#include "server/services/cluster_settings.h"
#include "server/services/data_tools.h"

namespace fairlock::server {

namespace {

// Reading a frame from etcd takes about as long as reading this many bytes of larger frames. So a
// log of small changes has at most about 4,000 frames, which take a tenth of a second to read.
constexpr std::uint64_t kBytesOfAFrame = 16'384;

std::string NameOf(persist::Durability durability) {
  switch (durability) {
    case persist::Durability::kNone:
      return "none";
    case persist::Durability::kAsync:
      return "async";
    case persist::Durability::kSync:
      return "sync";
  }
  return "";
}

command::Service ServiceOf(const persist::StateLogState& state) {
  if (state.has_failed) return command::Service::kFailed;
  if (!state.is_ready) return command::Service::kLoading;
  if (state.is_unsure) return command::Service::kClusterDown;
  return state.is_short_of_space ? command::Service::kShortOfSpace : command::Service::kWorking;
}

}  // namespace

PersistenceService::PersistenceService(command::ServerParts& parts, net::TurnLoop& loop, Log& log,
                                       PersistenceHooks hooks)
    : parts_(parts),
      loop_(loop),
      to_loop_(loop.io_context()),
      log_(log),
      hooks_(std::move(hooks)),
      confirmation_{.alarm = {loop.io_context(), [this] { OnUnconfirmed(); }}, .now = {}},
      database_log_(std::make_shared<DatabaseLog>(log)),
      backups_(parts, loop.io_context(), log) {}

PersistenceService::~PersistenceService() {
  if (home_.node && !state_log_) home_.node->Stop();
  if (reader_.joinable()) reader_.join();
  loop_.SetStateLog(nullptr, {});
  database_log_->Close();
}

std::string PersistenceService::Start(const Config& config, bool initialises,
                                      std::vector<std::string> own_files) {
  backups_.set_folder(config.backup_dir);
  home_.path = DataFolderOf(config);
  options_ = {.durability = config.durability,
              .flush_interval_ms = config.flush_interval,
              .free_bytes_min = static_cast<std::uint64_t>(config.min_free_disk),
              .restart_grace_ms = config.restart_grace,
              .start_delay_ms = config.start_delay,
              .values = &parts_.values.store(),
              .wake = [this] { loop_.Wake(); },
              .unix_ms = [] { return net::UnixTimeUs() / 1000; },
              .monotonic_ns = [] { return net::MonotonicNs(); }};
  if (!config.cluster_etcd.empty()) return StartNode(config);
  if (home_.path.empty()) {
    if (config.start_delay > 0) {
      parts_.locks.engine().limits().DelayGrantsUntil(net::BoottimeMs() + config.start_delay);
    }
    hooks_.ready();
    return "";
  }
  parts_.availability.set_service(command::Service::kLoading);
  reader_ = std::thread([this, initialises, own_files = std::move(own_files)] {
    auto opened = std::make_shared<storage::Result<persist::OpenedLocks>>(persist::OpenLocks(
        {.path = home_.path,
         .initialise = initialises,
         .own_files = own_files,
         .durability = persist::StorageDurabilityOf(options_.durability),
         .log = [database_log = database_log_](bool is_error, std::string_view message) {
           database_log->Write(is_error, message);
         }}));
    to_loop_.Post([this, opened] { UseFolder(std::move(*opened)); });
  });
  return "";
}

std::string PersistenceService::StartNode(const Config& config) {
  ClusterSettings settings = ReadClusterSettings(config);
  if (!settings.error.empty()) return settings.error;
  settings.options.now_ms = [] { return net::BoottimeMs(); };
  settings.options.on_leader = hooks_.leader_seen;
  auto node = storage::replicated::ClusterHome::Open(settings.options);
  if (!node.ok()) return "cluster_etcd: " + node.status().message();
  home_.node = std::move(node.value());
  home_.fleet.emplace(*home_.node, settings, loop_.io_context(), HooksOfFleet());
  if (std::string error = home_.fleet->Start(); !error.empty()) return error;
  parts_.environment.fleet = &*home_.fleet;
  options_.free_bytes_min = FreeQuotaMin(settings);
  options_.durability = persist::Durability::kSync;
  options_.confirms_replies = true;
  options_.snapshots.bytes_of_a_batch = kBytesOfAFrame;
  options_.snapshots.is_followed = [this] { return home_.fleet->has_warm_standby(); };
  parts_.locks.engine().options().stores_all_places = config.cluster_keep_lines;
  parts_.availability.set_service(command::Service::kClusterDown);
  reader_ = std::thread([this] {
    auto rows = std::make_shared<persist::LoadedRows>();
    storage::Status status = home_.node->AwaitLeadership([&rows]() -> storage::ChangeSink& {
      *rows = persist::LoadedRows();
      return *rows;
    });
    if (status.ok()) status = rows->Finish();
    to_loop_.Post([this, rows, status] { TakeLead(status, *rows); });
  });
  log_.Info("node {} of fleet {} is on standby", settings.options.node, config.cluster_name);
  // For the service manager, a standby is ready even though it does not serve locks.
  hooks_.ready();
  return "";
}

FleetHooks PersistenceService::HooksOfFleet() {
  return {.hand_over =
              [this](const std::string& why) {
                starts_again_ = true;
                hooks_.stop(why);
              },
          .wait =
              [this](const std::string& why) {
                log_.Warning("this node has no partition yet: {}", Escaped(why));
              },
          .unreadable =
              [this](const std::string& why) {
                log_.Error("this node cannot take over, because it cannot read the log: {}",
                           Escaped(why));
              },
          .join = [this](const auto& assignment) { Join(assignment); },
          .refuse =
              [this](const std::string& why) {
                if (loop_.is_stop_asked()) return;
                error_ = "cluster: " + why;
                hooks_.stop("this node cannot be part of the fleet");
              },
          .unsure_ms =
              [this] {
                return is_unsure() ? confirmation_.now.unconfirmed_ms(net::MachineBoottimeMs())
                                   : -1;
              },
          .commits =
              [this] { return state_log_ ? state_log_->Figures().syncs : storage::SyncTimes{}; }};
}

void PersistenceService::Join(const storage::replicated::Assignment& assignment) {
  if (home_.fleet->dialect() == command::FleetDialect::kPlain) return;
  log_.Info("this node serves partition {} of {}", assignment.partition, assignment.partitions);
  parts_.ServePartition(assignment.partition, assignment.partitions);
  hooks_.joins_cluster();
}

void PersistenceService::PrepareStop() {
  net::HoldBoottime(false);
  if (!home_.node) return;
  // These attempts last long enough for etcd to elect another leader, but the stop ends even if
  // etcd is gone. An attempt takes up to 2 s, so all of them take less than the time that systemd
  // allows.
  constexpr int kAttemptsMax = 20;
  confirmation_.alarm.Cancel();
  const bool may_lead = state_log_ && !is_unsure();
  may_lead ? home_.node->Stop(kAttemptsMax) : home_.node->Stop();
}

void PersistenceService::EndLead() {
  if (!home_.node) return;
  if (state_log_ && !state_log_->state().has_failed) {
    home_.node->Stop();
    const storage::Status status = home_.node->HandOver(home_.fleet->Successor());
    if (!status.ok()) log_.Warning("leadership was not handed over: {}", status.message());
  }
  if (!starts_again_) return;
  home_.fleet->KeepRecord();
  RememberBeat(home_.fleet->Report().partition, home_.node->HighestSeen(),
               home_.fleet->etcd_cluster());
}

void PersistenceService::Apply(const Config& config) {
  AssertInLoop();
  if (home_.fleet) home_.fleet->Apply(config);
  if (home_.node) return;
  options_.free_bytes_min = static_cast<std::uint64_t>(config.min_free_disk);
  if (state_log_) state_log_->set_free_bytes_min(options_.free_bytes_min);
}

void PersistenceService::LeaderRefused(const storage::replicated::RunId& run) {
  if (home_.node && !state_log_) home_.node->LeaderRefused(run);
}

void DatabaseLog::Write(bool is_error, std::string_view message) {
  const std::lock_guard lock(mutex_);
  if (log_ == nullptr) return;
  if (is_error) {
    log_->Error("database: {}", message);
  } else {
    log_->Warning("database: {}", message);
  }
}

void DatabaseLog::Close() {
  const std::lock_guard lock(mutex_);
  log_ = nullptr;
}

void PersistenceService::UseFolder(storage::Result<persist::OpenedLocks> opened) {
  // Nothing more would be persisted, so leave the folder as the last run left it.
  if (loop_.is_stop_asked()) return;
  if (!opened.ok()) {
    error_ = opened.status().message();
    if (opened.status().code() == storage::StatusCode::kDamaged) {
      error_ +=
          "; `fairlockd --check-data` shows what is intact, and `fairlockd --salvage` keeps the "
          "beginning that is. To start without any locks, move the folder away and start with "
          "--init";
    }
    if (opened.status().code() == storage::StatusCode::kNewer) {
      error_ += ". The folder was not changed: start that version, or a later one, with it";
    }
    return hooks_.stop("the data cannot be read");
  }
  for (const std::string& warning : opened->home->data().directory.warnings()) {
    log_.Warning("{}", warning);
  }
  home_.folder = std::move(opened->home);
  if (const engine::DurationMs delay_ms = opened->rows->last_run().grant_delay_ms; delay_ms > 0) {
    log_.Warning("the data was salvaged, and locks may be missing: nothing new is granted for {}",
                 command::FormatDuration(std::max(delay_ms, options_.start_delay_ms)));
  }
  BeginLog(*home_.folder, *opened->rows);
}

void PersistenceService::TakeLead(const storage::Status& status, const persist::LoadedRows& rows) {
  if (loop_.is_stop_asked()) return;
  if (status.code() == storage::StatusCode::kDeposed) return StartAgain(status);
  if (!status.ok()) {
    error_ = "cluster: " + status.message();
    return hooks_.stop("the locks cannot be read from etcd");
  }
  log_.Info("this node leads, epoch {}", home_.node->epoch());
  home_.fleet->TakeLead();
  BeginLog(*home_.node, rows);
}

void PersistenceService::StartAgain(const storage::Status& deposed) {
  starts_again_ = true;
  log_.Warning("deposed: {}; restarting as a standby", deposed.message());
  hooks_.stop("this node no longer leads");
}

void PersistenceService::BeginLog(storage::LogHome& home, const persist::LoadedRows& rows) {
  state_log_.emplace(parts_.locks.engine(), home, rows, options_,
                     parts_.locks.StepAt(net::BoottimeMs()));
  loop_.SetStateLog(&*state_log_, [this] { OnChange(); });
  FollowConfirmation();
  parts_.notifier.FollowRestore(net::BoottimeMs());
}

command::PersistenceReport PersistenceService::Report() const {
  command::PersistenceReport report;
  report.durability = NameOf(options_.durability);
  if (!state_log_) return report;
  const persist::StateLogFigures figures = state_log_->Figures();
  report.has_failed = has_failed();
  report.may_have_lost_leases = figures.may_have_lost_leases;
  report.is_snapshot_under_way = figures.is_snapshot_under_way;
  report.rows_loaded = figures.rows_loaded;
  report.newest_batch = figures.newest_batch;
  report.completed_batch = figures.completed_batch;
  report.durable_batch = figures.durable_batch;
  report.waiting_bytes = figures.bytes_waiting;
  report.snapshot = figures.snapshots;
  report.free_disk_bytes = figures.free_bytes;
  report.batches_timed = figures.batches_timed;
  report.batches_ms = static_cast<std::uint64_t>(figures.batches_ms);
  if (figures.watched_since != 0) report.journal_lag_ms = net::BoottimeMs() - figures.watched_since;
  report.syncs = figures.syncs.count;
  report.syncs_us = figures.syncs.sum_ns / 1000;
  return report;
}

std::string PersistenceService::StartBackup(const command::BackupRequest& request,
                                            std::uint64_t client_id) {
  if (options_.durability == persist::Durability::kNone) {
    return "locks are not stored, because durability is none";
  }
  if (home_.node) return "the locks are in etcd: back up etcd";
  if (!state_log_) return "the locks are still being loaded; try again soon";
  return backups_.Start(home_.folder->data(), request, client_id);
}

void PersistenceService::OnChange() {
  const persist::StateLogState state = state_log_->state();
  parts_.availability.set_service(ServiceOf(state));
  FollowConfirmation();
  if (is_deposed()) {
    if (!loop_.is_stop_asked()) StartAgain(state_log_->failure());
    return;
  }
  if (state.has_failed) {
    error_ = state_log_->failure().message();
    log_.Error(
        "storage has failed: {}; no further changes will be acknowledged, and the server is "
        "stopping",
        error_);
    return hooks_.stop("storage has failed");
  }
  const persist::StateLogState before = std::exchange(last_, state);
  if (before.is_unsure != state.is_unsure) {
    if (state.is_unsure) {
      log_.Error("etcd is not confirming writes: {}; leases are paused until it does",
                 home_.node->LastError());
    } else {
      log_.Info("etcd is confirming writes again");
    }
  }
  if (!before.is_ready && state.is_ready && home_.node) {
    log_.Info("fleet: {} rows loaded", state_log_->Figures().rows_loaded);
    hooks_.leads();
  } else if (!before.is_ready && state.is_ready) {
    log_.Info("data folder {}: {} rows loaded, durability {}", home_.path,
              state_log_->Figures().rows_loaded, NameOf(options_.durability));
    hooks_.ready();
  }
  if (before.is_short_of_space == state.is_short_of_space) return;
  if (home_.node) return LogQuota(state.is_short_of_space);
  if (state.is_short_of_space) {
    log_.Error("the disk of {} has less free space than min_free_disk: no new locks are granted",
               home_.path);
  } else {
    log_.Info("the disk of {} has enough free space again", home_.path);
  }
}

void PersistenceService::FollowConfirmation() {
  if (!home_.node || loop_.is_stop_asked()) return;
  confirmation_.now.See(state_log_->state(), net::MachineBoottimeMs());
  net::HoldBoottime(confirmation_.now.stops_leases());
  SetAlarm();
}

void PersistenceService::SetAlarm() {
  const engine::TimeMs close_at = confirmation_.now.close_at();
  if (close_at == engine::kNever) return confirmation_.alarm.Cancel();
  confirmation_.alarm.Set(std::max<engine::DurationMs>(close_at - net::MachineBoottimeMs(), 0));
}

void PersistenceService::OnUnconfirmed() {
  if (loop_.is_stop_asked()) return;
  if (confirmation_.now.NoteClosed(net::MachineBoottimeMs())) {
    log_.Error("etcd does not confirm that this node leads: {}; its clients are disconnected",
               home_.node->LastError());
  }
  loop_.CloseConnections(net::CloseReason::kNotConfirmed);
  SetAlarm();
}

void PersistenceService::LogQuota(bool is_short) {
  if (is_short) {
    log_.Error(
        "etcd's database has reached 80 % of cluster_etcd_quota: no new locks are granted; "
        "defragment etcd, or raise its quota");
  } else {
    log_.Info("etcd's database is below 80 % of cluster_etcd_quota again");
  }
}

}  // namespace fairlock::server
