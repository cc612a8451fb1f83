// An open data folder as the home of its log.
#pragma once

#include <optional>

#include "storage/data_folder/folder_watch.h"
#include "storage/data_folder/open_data.h"
#include "storage/log/log_home.h"

namespace fairlock::storage {

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
