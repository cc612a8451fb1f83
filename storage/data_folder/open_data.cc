#include "storage/data_folder/open_data.h"

#include <utility>

namespace fairlock::storage {

Result<OpenedData> OpenData(const OpenOptions& options, ChangeSink& sink) {
  auto directory = DataDirectory::Open(options.directory);
  if (!directory.ok()) return directory.status();
  const bool is_new = directory->is_new();
  auto store = RocksDbStore::Open(
      {.path = directory->database_path(),
       .mode = is_new ? RocksDbOptions::Mode::kNew : RocksDbOptions::Mode::kExisting,
       .log = options.log,
       .file_system = options.file_system,
       .durability = options.durability});
  if (!store.ok()) return store.status();
  if (is_new) {
    Status status = BeginLog(*store.value(), directory->log_id());
    if (status.ok()) status = directory->Settle();
    if (!status.ok()) return status;
  }
  auto end = LoadLog(*store.value(), sink);
  if (!end.ok()) return end.status();
  if (end->log_id != directory->log_id()) {
    return Damaged("the database in " + directory->database_path() +
                   " does not belong to the fairlock.id next to it");
  }
  return OpenedData{.directory = std::move(directory.value()),
                    .store = std::move(store.value()),
                    .end = end.value()};
}

}  // namespace fairlock::storage
