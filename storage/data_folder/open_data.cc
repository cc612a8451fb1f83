#include "storage/data_folder/open_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "storage/data_folder/file_identity.h"

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

namespace {

// The names of the files of DataDirectory, and of the folder itself.
constexpr const char* kWatchedNames[] = {"", "/fairlock.id", "/fairlock.lock", "/db"};

// Whether the error means that the file is gone. Other errors, such as a parent folder without
// search permission, say nothing about the file.
bool MeansGone(int error) { return error == ENOENT || error == ENOTDIR || error == ESTALE; }

}  // namespace

Result<FolderWatch> FolderWatch::Begin(const std::string& folder) {
  FolderWatch watch;
  for (const char* const name : kWatchedNames) {
    Watched file{.path = folder + name};
    file.descriptor = open(file.path.c_str(), O_PATH | O_CLOEXEC);
    if (file.descriptor < 0) return SystemFailure("cannot open", file.path);
    watch.files_.push_back(std::move(file));
  }
  return watch;
}

FolderWatch::~FolderWatch() {
  for (const Watched& file : files_) close(file.descriptor);
}

Status FolderWatch::Look() const {
  for (const Watched& file : files_) {
    struct stat opened {};
    struct stat found {};
    if (fstat(file.descriptor, &opened) != 0) return SystemFailure("cannot examine", file.path);
    if (stat(file.path.c_str(), &found) != 0) {
      if (!MeansGone(errno)) continue;
      return Failed(file.path + " was removed or renamed while the server was running");
    }
    if (found.st_dev != opened.st_dev || found.st_ino != opened.st_ino) {
      return Failed(file.path + " is not the one that the server opened: it was replaced, or " +
                    "another file system was mounted there");
    }
  }
  return {};
}

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
