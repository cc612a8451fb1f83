// A thread that syncs writes in the background.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "storage/log/store.h"

namespace fairlock::storage {

// Syncs as soon as it is notified of a write, then pauses for the interval. Thread-safe. Does
// nothing more after the first failed sync.
class Flusher {
 public:
  struct Reports {
    std::function<void()> begins;               // called before each sync
    std::function<void(std::uint64_t)> synced;  // with the newest synced batch
    std::function<void(const Status&)> failed;
  };

  Flusher(Store& store, std::chrono::milliseconds interval, Reports reports);
  Flusher(const Flusher&) = delete;
  Flusher& operator=(const Flusher&) = delete;
  ~Flusher() { Stop(); }

  void NotifyWritten(std::uint64_t batch);
  bool is_syncing() const { return is_syncing_.load(std::memory_order_relaxed); }

  // Starts no more syncs; returns when the current sync has ended.
  void Stop();

 private:
  void Run();

  Store& store_;
  const std::chrono::milliseconds interval_;
  const Reports reports_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t written_ = 0;
  std::uint64_t synced_ = 0;
  bool is_stopping_ = false;
  std::atomic<bool> is_syncing_ = false;
  std::thread thread_;
};

}  // namespace fairlock::storage
