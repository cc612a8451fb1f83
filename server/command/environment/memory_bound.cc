#include "server/command/environment/memory_bound.h"

#include <utility>

namespace fairlock::command {

void MemoryBound::set_bytes_max(std::uint64_t bytes) {
  bytes_max_ = bytes;
  ask_at_ = 0;
}

bool MemoryBound::Look(engine::TimeMs now) {
  const bool asks_anew = now >= ask_at_;
  if (asks_anew) ask_at_ = now + kLookEveryMs;
  if (is_on()) used_bytes_ = resources_.MemoryInUse(asks_anew);
  const bool is_short = is_on() && used_bytes_ > bytes_max_;
  return std::exchange(is_short_, is_short) != is_short;
}

}  // namespace fairlock::command
