#include "server/services/rotated_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace fairlock::server {

namespace {

std::string NumberedPath(const std::string& path, std::size_t number) {
  return number == 0 ? path : path + "." + std::to_string(number);
}

// The length of the file without what follows its last line break.
std::uint64_t LengthOfLines(int descriptor, std::uint64_t bytes) {
  std::array<char, 4096> block{};
  while (bytes > 0) {
    const std::uint64_t begin = bytes - std::min<std::uint64_t>(bytes, block.size());
    const ssize_t got = ::pread(descriptor, block.data(), bytes - begin, static_cast<off_t>(begin));
    if (got <= 0) return bytes;
    const std::string_view read(block.data(), static_cast<std::size_t>(got));
    if (const std::size_t end = read.rfind('\n'); end != std::string_view::npos) {
      return begin + end + 1;
    }
    bytes = begin;
  }
  return 0;
}

// The time of the first line, which has it near its beginning; 0 if there is none.
std::int64_t TimeOfFirstLine(int descriptor) {
  std::array<char, 256> block{};
  const ssize_t got = ::pread(descriptor, block.data(), block.size() - 1, 0);
  const char* at = got <= 0 ? nullptr : std::strstr(block.data(), "\"at\":");
  return at == nullptr ? 0 : std::strtoll(at + 5, nullptr, 10);
}

}  // namespace

std::string RotatedFile::CannotWrite() const {
  return "cannot write to " + options_.path + ": " + std::strerror(errno);
}

std::string RotatedFile::Open(std::int64_t unix_now_ms) {
  descriptor_ =
      ::open(options_.path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
  if (descriptor_ < 0) return CannotWrite();
  struct stat found {};
  if (::fstat(descriptor_, &found) != 0 || !S_ISREG(found.st_mode)) {
    Close();
    return "cannot write to " + options_.path + ": it is not a regular file";
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    Close();
    return "another process writes to " + options_.path;
  }
  bytes_ = static_cast<std::uint64_t>(found.st_size);
  const std::uint64_t length = LengthOfLines(descriptor_, bytes_);
  if (length < bytes_ && ::ftruncate(descriptor_, static_cast<off_t>(length)) == 0) {
    bytes_ = length;
  }
  begun_at_ = bytes_ == 0 ? unix_now_ms : TimeOfFirstLine(descriptor_);
  return "";
}

void RotatedFile::Close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

bool RotatedFile::MustRotate(std::size_t more_bytes, std::int64_t unix_now_ms) const {
  if (bytes_ == 0) return false;
  const bool is_old = options_.age_ms_max > 0 && unix_now_ms - begun_at_ >= options_.age_ms_max;
  return is_old || bytes_ + more_bytes > options_.bytes_max;
}

void RotatedFile::Rotate() {
  Close();
  const std::string& path = options_.path;
  ::unlink(NumberedPath(path, options_.files_max).c_str());
  for (std::size_t number = options_.files_max; number > 0; --number) {
    ::rename(NumberedPath(path, number - 1).c_str(), NumberedPath(path, number).c_str());
  }
}

std::string RotatedFile::Append(std::string_view lines, std::int64_t unix_now_ms) {
  if (descriptor_ >= 0 && MustRotate(lines.size(), unix_now_ms)) Rotate();
  if (descriptor_ < 0) {
    if (std::string error = Open(unix_now_ms); !error.empty()) return error;
  }
  const std::uint64_t before = bytes_;
  while (!lines.empty()) {
    const ssize_t written = ::write(descriptor_, lines.data(), lines.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      std::string error = CannotWrite();
      // Without this, the next line would continue a part of this one.
      if (::ftruncate(descriptor_, static_cast<off_t>(before)) != 0) Close();
      bytes_ = before;
      return error;
    }
    bytes_ += static_cast<std::uint64_t>(written);
    lines.remove_prefix(static_cast<std::size_t>(written));
  }
  return "";
}

std::vector<std::string> RotatedFile::PathsOf(const RotationOptions& options) {
  std::vector<std::string> paths;
  for (std::size_t number = 0; number <= options.files_max; ++number) {
    std::string path = NumberedPath(options.path, number);
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) break;
    paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace fairlock::server
