// Opens a data folder: its lock and identity, its database, and what is in it.
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
  std::shared_ptr<rocksdb::FileSystem> file_system = {};  // null: the machine's
  Durability durability = Durability::kProcess;           // of each append at the least
};

struct OpenedData {
  DataDirectory directory;
  std::unique_ptr<RocksDbStore> store;
  LogEnd end;
};

// A new folder is made and settled. Of a copy the caller makes the raised token ceiling durable and
// then settles it.
Result<OpenedData> OpenData(const OpenOptions& options, ChangeSink& sink);

}  // namespace fairlock::storage
