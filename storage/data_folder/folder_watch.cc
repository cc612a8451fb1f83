#include "storage/data_folder/folder_watch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "storage/data_folder/file_identity.h"

namespace fairlock::storage {
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

}  // namespace fairlock::storage
