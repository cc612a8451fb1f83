// Opens a data folder: checks its lock and identity, opens its database, and loads the state.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/data_folder/data_directory.h"
#include "storage/log/load_log.h"
#include "storage/log/log_home.h"
#include "storage/rocksdb/rocksdb_store.h"
#include "storage/status.h"

namespace fairlock::storage {

struct OpenOptions {
  DirectoryOptions directory;
  std::function<void(bool is_error, std::string_view message)> log =
      {};                                                 // called by RocksDB's threads
  std::shared_ptr<rocksdb::FileSystem> file_system = {};  // null: the real file system
  Durability durability = Durability::kProcess;           // the minimum for every append
};

struct OpenedData {
  DataDirectory directory;
  std::unique_ptr<RocksDbStore> store;
  LogEnd end;
};

// Creates and settles a new folder. If the folder is a copy, the caller must make the raised token
// ceiling durable and then settle the folder.
Result<OpenedData> OpenData(const OpenOptions& options, ChangeSink& sink);

// Detects that the files of a data folder are no longer where they were opened.
//
// If open files are removed, renamed or hidden by another mounted file system, the process
// continues to write to them, but the next start does not find them. So this class checks that the
// paths still refer to the files that were opened. It keeps each file open so that no other file
// can get its inode. Movable, not thread-safe.
class FolderWatch {
 public:
  // REQUIRES: the data folder, its ID file, its lock file and its database exist.
  static Result<FolderWatch> Begin(const std::string& folder);

  FolderWatch(FolderWatch&& other) noexcept = default;
  FolderWatch& operator=(FolderWatch&&) = delete;
  ~FolderWatch();

  // Fails if a path no longer exists or refers to a different file. Costs a few system calls and
  // reads no data.
  Status Look() const;

 private:
  struct Watched {
    std::string path;
    int descriptor = -1;
  };

  FolderWatch() = default;

  std::vector<Watched> files_;
};

// An open data folder as the home of its log.
class DataFolderHome final : public LogHome {
 public:
  explicit DataFolderHome(OpenedData data) : data_(std::move(data)) {}

  Store& store() override { return *data_.store; }
  const LogEnd& end() const override { return data_.end; }
  bool is_copy() const override { return data_.directory.is_copy(); }
  // Turns a copy into an original, and starts to watch the files.
  Status Settle() override;
  Status Check() override;
  std::optional<std::uint64_t> FreeBytes() const override;

  // For backups, which may be made by another thread.
  const OpenedData& data() const { return data_; }

 private:
  OpenedData data_;
  std::optional<FolderWatch> watch_;  // none before Settle
};

}  // namespace fairlock::storage
