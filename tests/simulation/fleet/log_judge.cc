#include "tests/simulation/fleet/log_judge.h"

#include <cstddef>
#include <string_view>

namespace fairlock::fleet {

void LogJudge::Hear(const storage::etcd::WatchEvent& event) {
  if (frames_max_ == 0) return;
  const std::string_view key = event.kv.key;
  const std::size_t slash = key.rfind('/');
  if (!key.substr(0, slash).ends_with("/f")) return;
  std::uint64_t& frames = frames_[std::string(key.substr(0, slash))];
  if (event.kind == storage::etcd::WatchEvent::Kind::kDelete) {
    --frames;
  } else if (++frames > frames_max_ && !violation_) {
    violation_ = "the log has " + std::to_string(frames) + " frames, but must have no more than " +
                 std::to_string(frames_max_);
  }
}

}  // namespace fairlock::fleet
