#include "server/net/sockets/descriptor_limit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace fairlock::net {

namespace {

// The kernel enlarges the table of descriptors as it fills up. In a process with several threads,
// each enlargement blocks the accepting thread for about 10 ms, so the table is enlarged once, at
// the start.
void EnlargeDescriptorTable(rlim_t count) {
  const int any = ::open("/", O_PATH | O_CLOEXEC);
  if (any < 0) return;
  const int last = ::fcntl(any, F_DUPFD_CLOEXEC, static_cast<int>(count) - 1);
  if (last >= 0) ::close(last);
  ::close(any);
}

}  // namespace

std::size_t MakeRoomForConnections(std::size_t connections_wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return connections_wanted;
  const rlim_t needed = connections_wanted + kDescriptorsReserved;
  if (limit.rlim_cur < needed) {
    rlimit raised = limit;
    raised.rlim_cur = std::min(needed, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  EnlargeDescriptorTable(std::min(needed, limit.rlim_cur));
  if (limit.rlim_cur >= needed) return connections_wanted;
  return limit.rlim_cur > kDescriptorsReserved ? limit.rlim_cur - kDescriptorsReserved : 1;
}

}  // namespace fairlock::net
