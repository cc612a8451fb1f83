// Connects persistence with the loop: reads the data folder at the start, then reports the state of
// storage.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "contracts/loop_confined.h"
#include "server/command/environment/environment.h"
#include "server/command/server_parts.h"
#include "server/config/config.h"
#include "server/logging/logging.h"
#include "server/net/loop/loop_poster.h"
#include "server/net/loop/turn_loop.h"
#include "server/net/relay/alarm.h"
#include "server/persist/opened_locks.h"
#include "server/persist/state_log.h"
#include "server/services/backup_service.h"
#include "server/services/fleet_service.h"
#include "storage/replicated/cluster_home.h"

namespace fairlock::server {

struct PersistenceHooks {
  std::function<void()> ready;  // called when requests can be served, or a standby stands by
  std::function<void(const std::string& why)> stop;
  // Called in a node of a fleet when another node leads, by the thread that awaits the leadership.
  std::function<void(const storage::replicated::LeaderView&)> leader_seen;
  // Called when this node knows its partition, in a fleet of the dialect `cluster`.
  std::function<void()> joins_cluster;
  std::function<void()> leads;  // called when this node leads and has loaded the locks
};

// Forwards messages of the database to the log until Close. Thread-safe.
class DatabaseLog {
 public:
  explicit DatabaseLog(Log& log) : log_(&log) {}

  void Write(bool is_error, std::string_view message);
  void Close();

 private:
  std::mutex mutex_;
  Log* log_;
};

// Loop-confined; a dedicated thread reads the data.
class PersistenceService final : public command::Persistence, private contracts::LoopConfined {
 public:
  // All arguments must outlive this object.
  PersistenceService(command::ServerParts& parts, net::TurnLoop& loop, Log& log,
                     PersistenceHooks hooks);
  PersistenceService(const PersistenceService&) = delete;
  PersistenceService& operator=(const PersistenceService&) = delete;
  ~PersistenceService();

  // `own_files` are tolerated in a new data folder. Returns an error if an option is wrong.
  std::string Start(const Config& config, bool initialises, std::vector<std::string> own_files);
  // Call this when the server is about to stop.
  void PrepareStop();
  // Call this after the last write. Gives up the leadership, so that a standby takes over at once.
  void EndLead();
  void Apply(const Config& config);
  // Call this when the process of this run of the leader is gone.
  void LeaderRefused(const storage::replicated::RunId& run);

  // Whether a write failed. Nothing is acknowledged after that.
  bool has_failed() const { return state_log_ && state_log_->state().has_failed && !is_deposed(); }
  // Another node leads the fleet, or will, so this process starts again as a standby.
  bool starts_again() const { return starts_again_; }
  // The reason why the data could not be read or written; empty if there was no error.
  std::string error() const { return has_failed() ? state_log_->failure().message() : error_; }

  command::PersistenceReport Report() const override;
  std::string StartBackup(const command::BackupRequest& request, std::uint64_t client_id) override;

 private:
  // Another node leads, or this one gave up while it stopped.
  bool is_deposed() const {
    return state_log_ && state_log_->failure().code() == storage::StatusCode::kDeposed;
  }
  std::string StartNode(const Config& config);
  void UseFolder(storage::Result<persist::OpenedLocks> opened);
  void TakeLead(const storage::Status& status, const persist::LoadedRows& rows);
  void StartAgain(const storage::Status& deposed);
  FleetHooks HooksOfFleet();
  void Join(const storage::replicated::Assignment& assignment);
  void BeginLog(storage::LogHome& home, const persist::LoadedRows& rows);
  void OnChange();
  void FollowConfirmation();
  void SetAlarm();
  void OnUnconfirmed();
  bool is_unsure() const { return confirmation_.now.is_unsure(); }
  void LogQuota(bool is_short);

  command::ServerParts& parts_;
  net::TurnLoop& loop_;
  net::LoopPoster to_loop_;
  Log& log_;
  const PersistenceHooks hooks_;
  persist::StateLogOptions options_;
  // Where the locks are stored: in a data folder, in etcd, or nowhere.
  struct {
    std::string path;  // the path of the data folder
    std::unique_ptr<storage::DataFolderHome> folder;
    std::unique_ptr<storage::replicated::ClusterHome> node;
    std::optional<FleetService> fleet;
  } home_;
  std::optional<persist::StateLog> state_log_;
  struct {
    net::Alarm alarm;  // set while clients' connections are to be closed
    persist::Confirmation now;
  } confirmation_;  // only of a node of a fleet
  std::string error_;
  bool starts_again_ = false;
  persist::StateLogState last_;  // the state that was reported last
  // Shared, because after a failure the threads of the database outlive everything else.
  const std::shared_ptr<DatabaseLog> database_log_;
  std::thread reader_;
  BackupService backups_;  // destroyed before the folder that it reads
};

}  // namespace fairlock::server
