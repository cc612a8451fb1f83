#include "text/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace fairlock::text {

std::string FileContent::reason() const {
  return std::strerror(error);  // NOLINT(concurrency-mt-unsafe)
}

FileContent ReadFile(const std::string& path) {
  FileContent content;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    content.error = errno;
    return content;
  }
  std::array<char, 16 * 1024> block;
  while (true) {
    const ssize_t bytes = ::read(descriptor, block.data(), block.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) content.error = errno;
    if (bytes <= 0) break;
    content.bytes.append(block.data(), static_cast<std::size_t>(bytes));
  }
  ::close(descriptor);
  return content;
}

}  // namespace fairlock::text
