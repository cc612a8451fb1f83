#include "storage/replicated/loading_beats.h"

#include <cassert>
#include <utility>

namespace fairlock::storage::replicated {

void LoadingBeats::Begin(std::function<Status()> beat, std::chrono::milliseconds every) {
  assert(!thread_.joinable());
  thread_ = std::thread([this, beat = std::move(beat), every] { Run(beat, every); });
}

void LoadingBeats::Run(const std::function<Status()>& beat, std::chrono::milliseconds every) {
  for (int i = 0; i < kBeatsMax; ++i) {
    {
      std::unique_lock lock(mutex_);
      if (ended_.wait_for(lock, every, [this] { return is_ending_; })) return;
    }
    Status status = beat();
    if (status.ok()) continue;
    const std::lock_guard lock(mutex_);
    failure_ = std::move(status);
    return;
  }
}

Status LoadingBeats::End() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    ended_.notify_one();
    thread_.join();
  }
  return failure();
}

Status LoadingBeats::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace fairlock::storage::replicated
