// The beats of a leader that is still busy with loading.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "storage/status.h"

namespace fairlock::storage::replicated {

// Beats at a fixed pace on a thread of its own, until End or the first failure. It gives up after
// kBeatsMax, so that a leader whose loop hangs while it restores the locks is deposed.
class LoadingBeats {
 public:
  static constexpr int kBeatsMax = 1'200;

  LoadingBeats() = default;
  LoadingBeats(const LoadingBeats&) = delete;
  LoadingBeats& operator=(const LoadingBeats&) = delete;
  ~LoadingBeats() { static_cast<void>(End()); }

  // `beat` is called by the thread. REQUIRES: they were not begun before.
  void Begin(std::function<Status()> beat, std::chrono::milliseconds every);
  // Waits for a beat that is being written. Returns the failure.
  Status End();
  // ok: none has failed. Thread-safe.
  Status failure() const;

 private:
  void Run(const std::function<Status()>& beat, std::chrono::milliseconds every);

  std::thread thread_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ending_ = false;
  Status failure_;
};

}  // namespace fairlock::storage::replicated
