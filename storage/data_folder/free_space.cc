#include "storage/data_folder/free_space.h"

#include <sys/statvfs.h>

#include <cerrno>

#include "storage/data_folder/file_identity.h"

namespace fairlock::storage {

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
