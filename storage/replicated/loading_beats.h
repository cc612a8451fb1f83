// Writes the beats of a leader that is still loading the locks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "storage/status.h"

namespace fairlock::storage::replicated {

// Beats at a fixed interval on a thread of its own, until End or the first failure. It gives up
// after kBeatsMax beats, so that a leader whose loop hangs while restoring the locks is deposed.
class LoadingBeats {
 public:
  static constexpr int kBeatsMax = 1'200;

  LoadingBeats() = default;
  LoadingBeats(const LoadingBeats&) = delete;
  LoadingBeats& operator=(const LoadingBeats&) = delete;
  ~LoadingBeats() { static_cast<void>(End()); }

  // The thread calls `beat`. REQUIRES: Begin was not called before.
  void Begin(std::function<Status()> beat, std::chrono::milliseconds every);
  // Ends the beats. Waits for one that is being written. Returns the failure, if any.
  Status End();
  // The failure that ended the beats; ok if none has failed. Thread-safe.
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
