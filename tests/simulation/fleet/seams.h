// Replacements for threads, their waits, and random devices in the copy of the sources that the
// simulation runs (faults/seams.toml).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/simulation/fleet/virtual_time.h"

namespace fairlock::fleet {

// Replaces std::thread: a fiber of the same process as the fiber that creates it.
class Thread {
 public:
  Thread() = default;
  explicit Thread(std::function<void()> body);
  Thread(Thread&&) = default;
  Thread& operator=(Thread&&) = default;

  bool joinable() const { return has_ended_ != nullptr; }
  void join();

 private:
  std::shared_ptr<bool> has_ended_;
};

// Replaces std::condition_variable. The mutex is real: no fiber yields while it holds one.
class ConditionVariable {
 public:
  void notify_one() { notify_all(); }
  void notify_all();

  template <typename Predicate>
  void wait(std::unique_lock<std::mutex>& lock, Predicate is_met) {
    while (!is_met()) {
      lock.unlock();
      Wait();
      lock.lock();
    }
  }

  template <typename Rep, typename Period, typename Predicate>
  bool wait_for(std::unique_lock<std::mutex>& lock, std::chrono::duration<Rep, Period> time,
                Predicate is_met) {
    const TimeUs end =
        Time().now() + std::chrono::duration_cast<std::chrono::microseconds>(time).count();
    while (!is_met()) {
      if (Time().now() >= end) return false;
      lock.unlock();
      WaitUntil(end);
      lock.lock();
    }
    return true;
  }

 private:
  void Wait();
  void WaitUntil(TimeUs end);

  std::vector<Fiber*> waiting_;
};

// Replaces std::this_thread::sleep_for.
inline void SleepFor(std::chrono::microseconds duration) {
  Time().SleepUntil(Time().now() + duration.count());
}

// Replaces the sizes that a node's store uses with smaller ones, so that even a short run splits
// frames and discards history. The seed chooses them.
struct StoreSizes {
  static inline std::size_t frame_bytes_max = 0;
  static inline std::int64_t compact_every = 0;
  static inline std::uint64_t batch_bytes_max =
      0;  // with this many bytes of batches, a snapshot begins
  static inline std::uint64_t bytes_of_a_batch = 0;  // what each batch counts in addition
  static inline std::size_t kept_bytes_max = 0;      // kKeptBytesMax of a LogReading
};

// Replaces std::random_device: returns the same numbers in each run of a seed.
class RandomDevice {
 public:
  std::uint32_t operator()() const { return next++; }
  static inline std::uint32_t next = 0;  // its users need only unique numbers
};

}  // namespace fairlock::fleet
