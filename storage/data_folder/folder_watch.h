// Detects that the files of a data folder are no longer where they were opened.
#pragma once

#include <string>
#include <vector>

#include "storage/status.h"

namespace fairlock::storage {

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

}  // namespace fairlock::storage
