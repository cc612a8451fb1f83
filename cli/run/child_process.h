// The command that runs under the lock.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "cli/base/result.h"

namespace fairlock::cli {

struct ChildOptions {
  std::vector<std::string> command;
  std::vector<std::string> variables;  // "NAME=VALUE", beside those of the environment
  int signal_if_orphaned = 0;          // what the kernel sends it when our process dies first
};

// In a process group of its own, so that all of it can be stopped, and in the terminal's foreground
// if we were: Ctrl-C and Ctrl-Z are then its business, as in a shell. One thread starts it and
// lives until it has ended.
class ChildProcess {
 public:
  // The failure's exit code is that of a shell that cannot run a command.
  static Result<ChildProcess> Start(const ChildOptions& options);

  void Signal(int signal) const;     // to the command itself
  void SignalAll(int signal) const;  // to its whole group

  // Looks whether something happened to it (SIGCHLD). Once it has ended: its exit status as a shell
  // says it, 128 and the number of the signal if one ended it. When it was stopped at the terminal,
  // we stop too, and go on with it.
  std::optional<int> Look() const;

 private:
  ChildProcess(pid_t pid, bool has_terminal) : pid_(pid), has_terminal_(has_terminal) {}

  void StopTogether() const;

  pid_t pid_;
  bool has_terminal_;
};

}  // namespace fairlock::cli
