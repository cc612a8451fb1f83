// Signals, read like input.
#pragma once

#include <optional>

#include "cli/base/descriptor.h"

namespace fairlock::cli {

// From its making on, the signals that somebody sends to end, stop or tell a program something, and
// SIGCHLD, come here. Those that were ignored before (by nohup, say) stay ignored. Made before any
// other thread is started; only one at a time.
class SignalInbox {
 public:
  SignalInbox();

  int descriptor() const { return descriptor_.number(); }  // readable: one has come
  std::optional<int> Take();

 private:
  Descriptor descriptor_;
};

}  // namespace fairlock::cli
