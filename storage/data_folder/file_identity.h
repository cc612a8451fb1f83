// Identifies files, and writes files completely or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/status.h"

namespace fairlock::storage {

// Distinguishes a file from every copy of it on the same file system, and survives a reboot. Fields
// that the file system does not support are zero.
struct FileIdentity {
  std::uint64_t inode = 0;
  std::uint64_t born_ns = 0;
  std::uint64_t file_system = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

Result<FileIdentity> IdentityOf(const std::string& path);

// Formats errno as "what PATH: description".
Status SystemFailure(const std::string& what, const std::string& path);

// A file that is written under a temporary name and replaces another file when it is complete.
class FileInTheMaking {
 public:
  explicit FileInTheMaking(std::string path);
  FileInTheMaking(const FileInTheMaking&) = delete;
  FileInTheMaking& operator=(const FileInTheMaking&) = delete;
  ~FileInTheMaking();

  Result<FileIdentity> Identity() const;
  // Writes and syncs the content, replaces the other file, and syncs the folder.
  Status Finish(std::string_view content);

 private:
  std::string path_;
  std::string own_path_;
  int fd_;
};

// Makes files created or renamed in the folder of that file durable. Returns false on failure.
bool SyncFolderOf(const std::string& path);

Result<std::string> ReadSmallFile(const std::string& path);

// The space available to an unprivileged process on the file system of that file or folder.
Result<std::uint64_t> FreeBytes(const std::string& path);

// An ID of the current boot of the machine; empty if the system does not provide one.
std::string BootId();

}  // namespace fairlock::storage
