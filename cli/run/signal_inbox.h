// Receives signals through a file descriptor.
#pragma once

#include <optional>

#include "cli/base/descriptor.h"

namespace fairlock::cli {

// Receives SIGCHLD and the signals that end, stop or notify a program. Signals that were ignored
// before (by nohup, for instance) stay ignored. Must be created before any thread is started; only
// one may exist at a time.
class SignalInbox {
 public:
  SignalInbox();

  int descriptor() const { return descriptor_.number(); }  // readable when a signal has arrived
  std::optional<int> Take();

 private:
  Descriptor descriptor_;
};

}  // namespace fairlock::cli
