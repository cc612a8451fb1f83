// Runs code in a child process, so that a failed assertion or an endless loop becomes a result
// instead of ending the caller. Time limits count the processor time of the child, so that a busy
// machine does not change the result.
#pragma once

#include <csignal>
#include <functional>

namespace fairlock::simulation {

struct ChildEnd {
  // A signal ended it, because of an assertion, a crash, or the time limit.
  bool was_killed = false;
  int code = 0;  // the exit code, or the signal

  bool is_good() const { return !was_killed && code == 0; }
};

struct ChildOptions {
  bool is_quiet = false;       // hides what the child prints to stderr
  unsigned seconds_max = 600;  // after this time the child is killed
};

// The signal that kills a process whose time is over.
inline constexpr int kTimeOver = SIGPROF;
// Sets a new time limit for this process, which begins now.
void LimitTime(unsigned seconds);

// Returns when the child has ended. `body` runs in the child and returns its exit code.
ChildEnd RunInChild(const ChildOptions& options, const std::function<int()>& body);

}  // namespace fairlock::simulation
