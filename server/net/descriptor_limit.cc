#include "server/net/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace fairlock::net {

std::size_t MakeRoomForConnections(std::size_t connections_wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return connections_wanted;
  const rlim_t needed = connections_wanted + kDescriptorsReserved;
  if (limit.rlim_cur < needed) {
    rlimit raised = limit;
    raised.rlim_cur = std::min(needed, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  if (limit.rlim_cur >= needed) return connections_wanted;
  return limit.rlim_cur > kDescriptorsReserved ? limit.rlim_cur - kDescriptorsReserved : 1;
}

}  // namespace fairlock::net
