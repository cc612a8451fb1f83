// What commands use from outside this folder: facts, clocks, resources, settings, persistence,
// users, the log, the shutdown.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/command/environment/clock.h"
#include "server/command/environment/fleet.h"
#include "server/engine/api/glob.h"
#include "server/engine/api/types.h"
#include "server/script/host.h"

namespace fairlock::command {

struct ResourceUse {
  double user_cpu_seconds = 0;
  double system_cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t allocated_bytes = 0;  // 0: the allocator does not report it
};

// Facts about the server. While it runs, only `connections_max` changes.
struct ServerFacts {
  std::string version;
  std::string run_id;  // 40 hexadecimal digits, new at each server start
  std::string executable;
  std::string config_file;       // empty: none
  std::string operating_system;  // "Linux 6.1.0-18-amd64 x86_64"
  std::int64_t process_id = 0;
  std::uint16_t tcp_port = 0;  // 0: no TCP
  std::uint32_t connections_max = 10'000;
};

// HELLO and INFO report this version in addition to our own. With 7.2, client libraries use RESP3,
// and release their locks with WATCH, MULTI and EXEC or with scripts. With newer versions they
// would expect hash field expiry and other features that a lock server does not need.
inline constexpr std::string_view kRedisVersion = "7.2.4";

struct Setting {
  std::string name;
  std::string value;
  bool is_secret = false;  // a password or another secret
  // The following fields describe an option. If the setting is the Redis name of an option, only
  // `name_of_option` is set.
  std::string name_of_option = {};
  std::string default_value = {};
  std::string comment = {};
  bool is_changeable = false;  // by CONFIG SET
};

// The state of the journal and the snapshots.
struct PersistenceReport {
  std::string durability = "none";
  bool has_failed = false;
  bool may_have_lost_leases = true;  // determined at startup
  bool is_snapshot_under_way = false;
  std::uint64_t rows_loaded = 0;
  std::uint64_t newest_batch = 0;
  std::uint64_t completed_batch = 0;  // replies up to this batch may be sent
  std::uint64_t durable_batch = 0;    // this batch and all earlier ones survive a power loss
  std::uint64_t waiting_bytes = 0;    // bytes that wait for the journal
  std::uint64_t snapshot = 0;         // number of the newest snapshot
  std::uint64_t free_disk_bytes = 0;  // 0: not measured
  // A sample of batches is timed from start to completion. These are the number of timed batches,
  // their total time, and the age of the batch that is being timed now.
  std::uint64_t batches_timed = 0;
  std::uint64_t batches_ms = 0;
  std::int64_t journal_lag_ms = 0;
  std::uint64_t syncs = 0;
  std::uint64_t syncs_us = 0;  // total time of all syncs
};

// Asks which of these slow hashes, if any, the password matches.
struct PasswordQuestion {
  std::vector<std::string> stored;
  std::string password;
};

struct BackupRequest {
  std::string path;          // path of the new folder; empty: a folder named after the time
  std::string folder;        // where a folder named after the time is created; empty: backup_dir
  std::size_t kept_max = 0;  // the oldest dated backups beyond this number are removed; 0: none are
};

// The four interfaces below are implemented by the server, and faked in tests. Loop-confined.

class ResourceMeter {
 public:
  virtual ResourceUse Resources() const = 0;
  // All memory in use. If `asks_anew` is set, asks the allocator, which takes a few microseconds;
  // otherwise uses its last answer, corrected by what this thread has allocated and freed since.
  virtual std::uint64_t MemoryInUse(bool asks_anew) = 0;

 protected:
  ~ResourceMeter() = default;
};

class Settings {
 public:
  // Returns the settings whose name matches the glob, in the order of their table.
  virtual std::vector<Setting> FindSettings(const engine::Glob& name_glob) const = 0;
  // Returns an empty string on success, otherwise the error.
  virtual std::string ChangeSetting(std::string_view name, std::string_view value) = 0;

 protected:
  ~Settings() = default;
};

class Persistence {
 public:
  virtual PersistenceReport Report() const = 0;
  // Starts a backup of the data. Returns an empty string if it has started; the client with that id
  // is answered later. Otherwise returns the error.
  virtual std::string StartBackup(const BackupRequest& request, std::uint64_t client_id) = 0;

 protected:
  ~Persistence() = default;
};

class UserDirectory {
 public:
  // Reads the users again. Returns an empty string on success, otherwise why nothing has changed.
  virtual std::string ReloadUsers() = 0;
  // Starts a comparison off the loop, whose result goes to LogIns::Finish. Returns false if too
  // many comparisons are running.
  virtual bool StartPasswordCheck(PasswordQuestion question, std::uint64_t comparison_id) = 0;

 protected:
  ~UserDirectory() = default;
};

// Why a connection that had not logged in was closed.
enum class ClosedNewcomer : std::uint8_t { kTooSlow, kOneTooMany, kInTheWay };

// What commands write to the server's log. Implemented by the server, faked in tests.
// Loop-confined.
class CommandLog {
 public:
  virtual void LogWarning(std::string_view text) = 0;
  // A line of the audit, which is written whatever the level of the log.
  virtual void LogAudit(std::string_view text) = 0;
  // Called when a client's script has called redis.log.
  virtual void LogFromScript(script::LogLevel level, std::string_view text) = 0;
  virtual void LogFailedLogIn(std::string_view address, std::string_view user) = 0;
  // Called when commands that take memory start to be refused, and when they are accepted again.
  virtual void LogMemoryShort(bool is_short, std::uint64_t used_bytes, std::uint64_t bytes_max) = 0;
  virtual void LogClosedNewcomer(ClosedNewcomer why, std::string_view address,
                                 engine::TimeMs now) = 0;

 protected:
  ~CommandLog() = default;
};

// All members outlive the commands.
struct Environment {
  const ServerFacts& facts;
  const Clock& clock;
  ResourceMeter& resources;
  Settings& settings;
  CommandLog& log;
  // Makes the server stop soon, as SIGTERM does.
  std::function<void()> request_shutdown = {};
  Persistence* persistence = nullptr;  // null: nothing is persisted
  // null: users cannot be reloaded, and slow hashes are not compared
  UserDirectory* users = nullptr;
  Fleet* fleet = nullptr;  // null: this server is not a node of a fleet

  // Whether this server is a node of a fleet whose clients must know Redis Cluster.
  bool IsCluster() const {
    return fleet != nullptr && fleet->Report().dialect == FleetDialect::kCluster;
  }
  // False: this server is a standby of a fleet.
  bool Leads() const { return fleet == nullptr || fleet->Report().role == FleetRole::kLeader; }
  PersistenceReport ReportPersistence() const {
    return persistence == nullptr ? PersistenceReport{} : persistence->Report();
  }
};

// Limits how many log lines of one kind are written. Allows `lines_max` lines per kPeriodMs.
// Further lines are counted, and the next line that is written gives their number. Loop-confined.
class LineBudget {
 public:
  static constexpr engine::DurationMs kPeriodMs = 10'000;

  explicit LineBudget(std::uint64_t lines_max) : lines_max_(lines_max) {}

  // Whether one more line may be written now; if not, counts it.
  bool Take(engine::TimeMs now) {
    if (now >= period_end_) {
      period_end_ = now + kPeriodMs;
      lines_ = 0;
    }
    if (++lines_ <= lines_max_) return true;
    ++unwritten_;
    return false;
  }
  // The end of a line: how many lines were not written since the last one that was.
  std::string TakeUnwritten() {
    const std::uint64_t unwritten = std::exchange(unwritten_, 0);
    return unwritten == 0 ? "" : "; " + std::to_string(unwritten) + " earlier ones were not logged";
  }

 private:
  const std::uint64_t lines_max_;
  engine::TimeMs period_end_ = 0;
  std::uint64_t lines_ = 0;      // in this period
  std::uint64_t unwritten_ = 0;  // since the last line that was written
};

}  // namespace fairlock::command
