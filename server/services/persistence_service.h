// Joins the keeper of the locks with the loop: reads the data folder at the start, and says how it
// goes on.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "server/command/environment/environment.h"
#include "server/command/server_parts.h"
#include "server/config/config.h"
#include "server/logging/logging.h"
#include "server/net/turn_loop.h"
#include "server/persist/keeper.h"

namespace fairlock::server {

struct PersistenceHooks {
  std::function<void()> ready;  // locks can be asked for
  std::function<void(const std::string& why)> stop;
};

// What the database has to say, as long as there is a log for it. Thread-safe.
class DatabaseLog {
 public:
  explicit DatabaseLog(Log& log) : log_(&log) {}

  void Write(bool is_error, std::string_view message);
  void Close();

 private:
  std::mutex mutex_;
  Log* log_;
};

// Loop-confined; reading is done by a thread of its own.
class PersistenceService final : public command::Persistence {
 public:
  // All must outlive it.
  PersistenceService(command::ServerParts& parts, net::TurnLoop& loop, Log& log,
                     PersistenceHooks hooks);
  PersistenceService(const PersistenceService&) = delete;
  PersistenceService& operator=(const PersistenceService&) = delete;
  ~PersistenceService();

  // `own_files` may be in a new data folder.
  void Start(const Config& config, bool initialises, std::vector<std::string> own_files);
  void Apply(const Config& config);

  // A write failed: nothing more was acknowledged.
  bool has_failed() const { return keeper_ && keeper_->has_failed(); }
  // Why the data could not be read or written; empty: it could.
  std::string error() const { return has_failed() ? keeper_->failure() : error_; }

  command::PersistenceReport Report() const override;
  // One at a time; a thread of its own makes it.
  std::string StartBackup(const command::BackupRequest& request, std::uint64_t client_id) override;

 private:
  void TakeOver(storage::Result<persist::OpenedLocks> opened);
  void OnChange();
  struct BackupMade {
    std::string path;   // empty: none was made
    std::string error;  // empty: all is done
    bool is_named_here = false;
  };
  BackupMade MakeBackup(const command::BackupRequest& request) const;
  void EndBackup(const BackupMade& made, std::uint64_t client_id);

  command::ServerParts& parts_;
  net::TurnLoop& loop_;
  Log& log_;
  const PersistenceHooks hooks_;
  persist::KeeperOptions options_;
  std::string backup_folder_;  // of the options; empty: one beside the data folder
  std::optional<persist::Keeper> keeper_;
  std::string error_;
  bool was_ready_ = false;
  bool was_short_ = false;
  // After a failure the database's threads outlive everything else.
  const std::shared_ptr<DatabaseLog> database_log_;
  std::thread reader_;
  std::thread backup_;
};

}  // namespace fairlock::server
