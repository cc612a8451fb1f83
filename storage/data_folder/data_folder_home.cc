#include "storage/data_folder/data_folder_home.h"

#include <utility>

#include "storage/data_folder/free_space.h"

namespace fairlock::storage {

Status DataFolderHome::Settle() {
  if (data_.directory.is_copy()) {
    Status status = data_.directory.Settle();
    if (!status.ok()) return status;
  }
  auto watch = FolderWatch::Begin(data_.directory.path());
  if (!watch.ok()) return watch.status();
  watch_.emplace(std::move(watch.value()));
  return {};
}

Status DataFolderHome::Check() {
  if (!watch_) return {};
  Status status = watch_->Look();
  return status.ok() ? data_.store->LookForFiles() : status;
}

std::optional<std::uint64_t> DataFolderHome::FreeBytes() const {
  const auto bytes = storage::FreeBytes(data_.directory.path());
  return bytes.ok() ? std::optional(bytes.value()) : std::nullopt;
}

}  // namespace fairlock::storage
