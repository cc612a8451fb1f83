// The data folder: its identity, whether it is in use, and whether it is the right one.
//
// The folder contains `fairlock.lock`, which is locked while a process uses the folder;
// `fairlock.id`, which stores the ID of the log and the identity of the file itself (inode,
// creation time, file system); and `db`, the database. Next to the folder, `FOLDER.initialised`
// records that it had data. These files distinguish three accidents from a first start. If a file
// system is not mounted, the folder is empty although it had data. If the wrong volume is mounted,
// the log has a different ID. In a copy, the ID file does not match the identity that it stores.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/records/snapshot_heading.h"
#include "storage/status.h"

namespace fairlock::storage {

struct DirectoryOptions {
  std::string path;
  // The operator confirms that the folder is meant to be empty although it had data (--init).
  bool initialise = false;
  bool only_look = false;  // creates and changes nothing except the lock file
  // Paths that the server itself was configured to use, such as its log. A folder with only these
  // counts as empty.
  std::vector<std::string> own_files = {};
};

// Keeps the folder locked until destroyed. Movable, not thread-safe.
class DataDirectory {
 public:
  // Creates the folder, for its owner alone, if it does not exist. Takes an existing one away from
  // users outside its group. Error messages are meant for operators.
  static Result<DataDirectory> Open(const DirectoryOptions& options);

  DataDirectory(DataDirectory&& other) noexcept;
  DataDirectory& operator=(DataDirectory&&) = delete;
  ~DataDirectory();

  const std::string& path() const { return path_; }  // absolute
  const LogId& log_id() const { return log_id_; }
  std::string database_path() const { return path_ + "/db"; }
  // Whether the path is within the folder, after links are resolved. The path need not exist.
  bool Contains(const std::string& path) const;

  // Whether there is no database yet. The caller must then create it and call Settle. Until then,
  // anything in the folder is ignored, and the next Open starts over.
  bool is_new() const { return is_new_; }

  // Whether the files were copied or restored, so that another process may have continued from the
  // same state. Tokens must then start higher; once that is durable, Settle turns this folder into
  // an original.
  bool is_copy() const { return is_copy_; }

  // Records that the folder has been initialised in this place. Only needed if it is new or a copy.
  Status Settle();

  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  DataDirectory(std::string path, bool only_looks)
      : path_(std::move(path)), only_looks_(only_looks) {}

  // Takes the folder's files away from other users. The group may keep the right to read them,
  // which a backup program may need.
  void KeepOthersOut();
  Status Lock();
  Status ReadId(const std::string& id_path);
  Status BeginAnew(const DirectoryOptions& options);
  Status CheckMark();
  Status WriteId(std::string_view state);
  void WriteMark();
  std::string mark_path() const { return path_ + ".initialised"; }

  std::string path_;
  bool only_looks_;
  LogId log_id_{};
  int lock_ = -1;
  bool is_new_ = false;
  bool is_copy_ = false;
  std::vector<std::string> warnings_;
};

// Writes the ID file of a backup, which marks it as a copy for any server that starts on it.
Status WriteIdOfBackup(const std::string& path, const LogId& log_id);

// Whether the folder is a complete backup of that log on which no server has been started.
bool IsBackupOf(const std::string& path, const LogId& log_id);

}  // namespace fairlock::storage
