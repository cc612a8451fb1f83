#include "storage/data_folder/file_identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace fairlock::storage {
namespace {

constexpr std::size_t kSmallFileBytesMax = 4096;

Result<FileIdentity> IdentityOfOpen(int fd, const std::string& path) {
  struct statx file {};
  struct statvfs system {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &file) != 0 ||
      fstatvfs(fd, &system) != 0) {
    return SystemFailure("cannot examine", path);
  }
  const bool has_birth = (file.stx_mask & STATX_BTIME) != 0;
  return FileIdentity{
      .inode = file.stx_ino,
      .born_ns = has_birth ? static_cast<std::uint64_t>(file.stx_btime.tv_sec) * 1'000'000'000 +
                                 file.stx_btime.tv_nsec
                           : 0,
      .file_system = system.f_fsid};
}

}  // namespace

bool SyncFolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_synced = fsync(fd) == 0;
  close(fd);
  return is_synced;
}

Status SystemFailure(const std::string& what, const std::string& path) {
  const int error = errno;
  return Failed(what + " " + path + ": " + std::generic_category().message(error));
}

Result<FileIdentity> IdentityOf(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return SystemFailure("cannot open", path);
  auto identity = IdentityOfOpen(fd, path);
  close(fd);
  return identity;
}

FileInTheMaking::FileInTheMaking(std::string path)
    : path_(std::move(path)), own_path_(path_ + ".new") {
  // A file left by a crash must not be reused, because the new file needs its own creation time.
  unlink(own_path_.c_str());
  fd_ = open(own_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

FileInTheMaking::~FileInTheMaking() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(own_path_.c_str());
}

Result<FileIdentity> FileInTheMaking::Identity() const {
  if (fd_ < 0) return SystemFailure("cannot write", own_path_);
  return IdentityOfOpen(fd_, own_path_);
}

Status FileInTheMaking::Finish(std::string_view content) {
  if (fd_ < 0) return SystemFailure("cannot write", own_path_);
  errno = ENOSPC;  // a short write means that the disk is full
  const bool is_written =
      write(fd_, content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
      fsync(fd_) == 0;
  if (!is_written || rename(own_path_.c_str(), path_.c_str()) != 0 || !SyncFolderOf(path_)) {
    return SystemFailure("cannot write", path_);
  }
  close(std::exchange(fd_, -1));
  return {};
}

Result<std::string> ReadSmallFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return SystemFailure("cannot open", path);
  std::string content(kSmallFileBytesMax, '\0');
  const ssize_t bytes = read(fd, content.data(), content.size());
  Status status = bytes < 0 ? SystemFailure("cannot read", path) : Status();
  close(fd);
  if (!status.ok()) return status;
  content.resize(static_cast<std::size_t>(bytes));
  return content;
}

Result<std::uint64_t> FreeBytes(const std::string& path) {
  struct statvfs found {};
  if (statvfs(path.c_str(), &found) != 0) return SystemFailure("cannot examine", path);
  return std::uint64_t{found.f_bavail} * found.f_frsize;
}

std::string BootId() {
  const auto text = ReadSmallFile("/proc/sys/kernel/random/boot_id");
  if (!text.ok()) return "";
  return text->substr(0, text->find('\n'));
}

}  // namespace fairlock::storage
