// Opens a data folder and reads the locks in it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/persist/loaded_rows.h"
#include "storage/data_folder/open_data.h"

namespace fairlock::persist {

struct OpenedLocks {
  std::unique_ptr<storage::DataFolderHome> home;
  std::unique_ptr<LoadedRows> rows;
};

struct OpenLocksOptions {
  std::string path;
  bool initialise = false;
  std::vector<std::string> own_files = {};  // files that may be in a new folder
  // The durability of everything that will be written.
  storage::Durability durability = storage::Durability::kProcess;
  // Called by RocksDB's threads.
  std::function<void(bool is_error, std::string_view message)> log;
};

// Blocks until everything has been read.
storage::Result<OpenedLocks> OpenLocks(const OpenLocksOptions& options);

}  // namespace fairlock::persist
