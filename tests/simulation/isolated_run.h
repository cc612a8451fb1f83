// Runs something in a child process, so that a failed assertion or an endless loop is a result and
// not the end.
#pragma once

#include <functional>

namespace fairlock::simulation {

struct ChildEnd {
  bool was_killed = false;  // by a signal: an assertion, a crash, or the time limit
  int code = 0;             // the exit code, or the signal

  bool is_good() const { return !was_killed && code == 0; }
};

struct ChildOptions {
  bool is_quiet = false;       // nothing of what it says to stderr is shown
  unsigned seconds_max = 600;  // then it is killed
};

// Waits for the child. `body` gives its exit code.
ChildEnd RunInChild(const ChildOptions& options, const std::function<int()>& body);

}  // namespace fairlock::simulation
