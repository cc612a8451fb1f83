// Which file a file is, and files that are written whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/status.h"

namespace fairlock::storage {

// Differs between a file and every copy of it on the same file system, and stays when the machine
// starts again. Zero where the file system does not know.
struct FileIdentity {
  std::uint64_t inode = 0;
  std::uint64_t born_ns = 0;
  std::uint64_t file_system = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

Result<FileIdentity> IdentityOf(const std::string& path);

// "what PATH: the system's words" from errno.
Status SystemFailure(const std::string& what, const std::string& path);

// A file under a name of its own, that takes the place of another when it is complete.
class FileInTheMaking {
 public:
  explicit FileInTheMaking(std::string path);
  FileInTheMaking(const FileInTheMaking&) = delete;
  FileInTheMaking& operator=(const FileInTheMaking&) = delete;
  ~FileInTheMaking();

  Result<FileIdentity> Identity() const;
  // Writes, syncs, takes the place, and syncs the folder.
  Status Finish(std::string_view content);

 private:
  std::string path_;
  std::string own_path_;
  int fd_;
};

// Makes what was created or renamed in the folder of that file durable. False: it is not.
bool SyncFolderOf(const std::string& path);

Result<std::string> ReadSmallFile(const std::string& path);

}  // namespace fairlock::storage
