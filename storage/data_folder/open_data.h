// Opens a data folder: checks its lock and identity, opens its database, and loads the state.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "storage/data_folder/data_directory.h"
#include "storage/log/load_log.h"
#include "storage/rocksdb/rocksdb_store.h"

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

}  // namespace fairlock::storage
