// Notices that the files of a data folder are no longer where they were opened.
#pragma once

#include <string>
#include <vector>

#include "storage/status.h"

namespace fairlock::storage {

// A process that has its files open goes on writing to them when they are removed, renamed or
// hidden by another file system at their path; nothing of that is found at the next start. So what
// the paths name is compared with what was opened. Holds each of the files open, so that no other
// one can get its inode. Movable, not thread-safe.
class FolderWatch {
 public:
  // REQUIRES: what is watched exists already: the data folder, its id, its lock and its database.
  static Result<FolderWatch> Begin(const std::string& folder);

  FolderWatch(FolderWatch&& other) noexcept = default;
  FolderWatch& operator=(FolderWatch&&) = delete;
  ~FolderWatch();

  // Fails when a path names nothing or another file. A few system calls on names, no reads.
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
