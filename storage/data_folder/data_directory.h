// The folder that the data is in: who it is, whether it is in use, and whether it is the right one.
//
// In the folder: `fairlock.lock`, held while a process uses it; `fairlock.id`, which names the log
// and the file itself (inode, time of birth, file system); `db`, the database. Beside it:
// `FOLDER.initialised`, which says that data was there. So three accidents are told from a first
// start: a file system that is not mounted leaves an empty folder where data was; another volume in
// its place has another id; and in a copy the id file is not the one that it names.
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
  // An operator's word that an empty folder is meant to be empty although data was there (--init).
  bool initialise = false;
  bool only_look = false;  // nothing is made or changed but the lock file
  // That the server itself was told to use, such as its log. A folder with only these is empty.
  std::vector<std::string> own_files = {};
};

// Locks the folder until it is destroyed. Movable, not thread-safe.
class DataDirectory {
 public:
  // Makes the folder if it is not there. What is wrong is said in words for an operator.
  static Result<DataDirectory> Open(const DirectoryOptions& options);

  DataDirectory(DataDirectory&& other) noexcept;
  DataDirectory& operator=(DataDirectory&&) = delete;
  ~DataDirectory();

  const std::string& path() const { return path_; }  // absolute
  const LogId& log_id() const { return log_id_; }
  std::string database_path() const { return path_ + "/db"; }
  // Whether a path, of which not all need be there, is within the folder, links followed.
  bool Contains(const std::string& path) const;

  // There is no database yet. It is to be made, and then Settle called: until then whatever is
  // there counts as nothing, and the next Open begins anew.
  bool is_new() const { return is_new_; }

  // The files were copied or restored, so another process may have gone on from the same state.
  // Tokens must begin higher; when that is durable, Settle makes this folder an original.
  bool is_copy() const { return is_copy_; }

  // Writes that this folder is initialised here. Needless unless it is new or a copy.
  Status Settle();

  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  DataDirectory(std::string path, bool only_looks)
      : path_(std::move(path)), only_looks_(only_looks) {}

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

// Makes a backup's id file, so that whoever starts on the backup knows it for a copy.
Status WriteIdOfBackup(const std::string& path, const LogId& log_id);

// Whether the folder is a whole backup of that log, on which no server has started.
bool IsBackupOf(const std::string& path, const LogId& log_id);

}  // namespace fairlock::storage
