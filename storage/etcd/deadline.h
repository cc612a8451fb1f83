// The time at which a call ends, including all its attempts.
#pragma once

#include <chrono>

namespace fairlock::storage::etcd {

class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds timeout);

  // The time left: at most `longest`, and never negative.
  std::chrono::milliseconds Remaining(std::chrono::milliseconds longest) const;
  bool is_over() const { return Remaining(std::chrono::milliseconds(1)).count() <= 0; }

 private:
  std::chrono::steady_clock::time_point end_;
};

}  // namespace fairlock::storage::etcd
