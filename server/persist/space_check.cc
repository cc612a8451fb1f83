#include "server/persist/space_check.h"

#include <algorithm>

namespace fairlock::persist {

namespace {

constexpr engine::DurationMs kLookEveryMs = 1'000;
constexpr std::uint64_t kLookEveryBytes = std::uint64_t{4} << 20;

}  // namespace

void SpaceCheck::Look(const storage::LogHome& home, std::uint64_t waiting_bytes,
                      engine::TimeMs now) {
  AssertInLoop();
  if (now < next_at_ && written_bytes_ < kLookEveryBytes) return;
  next_at_ = now + kLookEveryMs;
  written_bytes_ = 0;
  const auto free_bytes = home.FreeBytes();
  if (!free_bytes) return;
  free_bytes_ = *free_bytes - std::min(*free_bytes, waiting_bytes);
  is_short_ = free_bytes_ < free_bytes_min_;
}

}  // namespace fairlock::persist
