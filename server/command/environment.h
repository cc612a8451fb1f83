// What commands need of the process around them: wall clock, resources, settings, the way out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/glob.h"
#include "server/engine/api/types.h"
#include "server/script/host.h"

namespace fairlock::command {

struct ResourceUse {
  double user_cpu_seconds = 0;
  double system_cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t allocated_bytes = 0;  // 0: the allocator does not tell
};

// Facts that do not change while the server runs.
struct ServerFacts {
  std::string version;
  std::string run_id;  // 40 hexadecimal digits, new at each start
  std::string executable;
  std::string config_file;       // empty: none
  std::string operating_system;  // "Linux 6.1.0-18-amd64 x86_64"
  std::int64_t process_id = 0;
  std::uint16_t tcp_port = 0;  // 0: no TCP
  std::uint32_t connections_max = 10'000;
};

struct Setting {
  std::string name;
  std::string value;
  bool is_secret = false;  // a password
  // What is below describes an option; a name under which Redis knows it has only `name_of_option`.
  std::string name_of_option = {};
  std::string default_value = {};
  std::string comment = {};
  bool is_changeable = false;  // by CONFIG SET
};

// How what is decided is kept on disk.
struct PersistenceReport {
  std::string durability = "none";
  bool has_failed = false;
  bool may_have_lost_leases = true;  // at the start
  bool is_snapshot_under_way = false;
  std::uint64_t rows_loaded = 0;
  std::uint64_t newest_batch = 0;
  std::uint64_t completed_batch = 0;  // replies up to this one may leave
  std::uint64_t durable_batch = 0;    // this one and all before outlive the machine
  std::uint64_t waiting_bytes = 0;    // for the journal
  std::uint64_t snapshot = 0;         // the newest one
  std::uint64_t free_disk_bytes = 0;  // 0: not looked at
  // How long batches took until they were complete, of those that were watched for it, and how old
  // the one is that is watched now.
  std::uint64_t batches_timed = 0;
  std::uint64_t batches_ms = 0;
  std::int64_t journal_lag_ms = 0;
  std::uint64_t syncs = 0;
  std::uint64_t syncs_us = 0;  // all together
};

// Whether a password is that of one of some slow hashes.
struct PasswordQuestion {
  std::vector<std::string> stored;
  std::string password;
};

// Why a connection that had not logged in was closed.
enum class ClosedNewcomer : std::uint8_t { kTooSlow, kOneTooMany };

struct BackupRequest {
  std::string path;          // of the new folder; empty: one with the time as its name
  std::string folder;        // for that; empty: backup_dir
  std::size_t kept_max = 0;  // more of such backups there are removed, the oldest first; 0: none
};

// Implemented by the server, faked in tests. Loop-confined.
class Environment {
 public:
  virtual ~Environment() = default;

  virtual const ServerFacts& Facts() const = 0;
  virtual std::int64_t UnixTimeUs() const = 0;
  // Only differences count.
  virtual std::uint64_t MonotonicNs() const = 0;
  // A clock that takes a few nanoseconds to read, and how long its ticks are, about.
  virtual std::uint64_t Ticks() const { return MonotonicNs(); }
  virtual double NsPerTick() const { return 1; }
  virtual ResourceUse Resources() const = 0;

  // Settings whose name matches the glob, in the order of their table.
  virtual std::vector<Setting> FindSettings(const engine::Glob& name_glob) const = 0;
  // Empty: done. Else what was wrong, as the text of an error.
  virtual std::string ChangeSetting(std::string_view name, std::string_view value) = 0;

  virtual PersistenceReport Persistence() const { return {}; }
  // Makes a copy of the data. Empty: it is under way, and the client of that number will be
  // answered; else why not.
  virtual std::string StartBackup(const BackupRequest& request, std::uint64_t client_id) {
    static_cast<void>(request);
    static_cast<void>(client_id);
    return "nothing is kept that could be copied";
  }
  virtual void LogWarning(std::string_view text) { static_cast<void>(text); }
  // What a script of a client says to the log.
  virtual void LogFromScript(script::LogLevel level, std::string_view text) = 0;

  // Begins to compare, off the loop; LogIns::Finish is told what came out. False: too many are
  // being compared already.
  virtual bool StartPasswordCheck(PasswordQuestion question, std::uint64_t comparison_id) {
    static_cast<void>(question);
    static_cast<void>(comparison_id);
    return false;
  }
  // Reads the users anew. Empty: they are in use; else why nothing has changed.
  virtual std::string ReloadUsers() { return "there is no ACL file"; }
  virtual void NoteFailedLogIn(std::string_view address, std::string_view user) {
    static_cast<void>(address);
    static_cast<void>(user);
  }

  // All memory in use. `asks_anew`: of the allocator, which takes some microseconds; else what it
  // said last, with what this thread has taken and given back since.
  virtual std::uint64_t MemoryInUse(bool asks_anew) {
    static_cast<void>(asks_anew);
    return 0;
  }
  // Nothing more is taken from now on, or something may be again.
  virtual void NoteMemoryShort(bool is_short, std::uint64_t used_bytes, std::uint64_t bytes_max) {
    static_cast<void>(is_short);
    static_cast<void>(used_bytes);
    static_cast<void>(bytes_max);
  }
  virtual void NoteClosedNewcomer(ClosedNewcomer why, std::string_view address,
                                  engine::TimeMs now) {
    static_cast<void>(why);
    static_cast<void>(address);
    static_cast<void>(now);
  }

  // The server stops soon, as on SIGTERM.
  virtual void RequestShutdown() = 0;
};

}  // namespace fairlock::command
