#include "storage/etcd/deadline.h"

#include <algorithm>

namespace fairlock::storage::etcd {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Deadline::Deadline(milliseconds timeout) : end_(steady_clock::now() + timeout) {}

milliseconds Deadline::Remaining(milliseconds longest) const {
  const auto left = std::chrono::ceil<milliseconds>(end_ - steady_clock::now());
  return std::clamp(left, milliseconds(0), longest);
}

}  // namespace fairlock::storage::etcd
