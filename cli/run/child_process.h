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
  std::vector<std::string> variables;  // "NAME=VALUE", added to the environment
  int signal_if_orphaned = 0;          // sent by the kernel when this process dies
};

// Runs the command in its own process group, so that the whole group can be stopped. If this
// process is in the terminal's foreground, the command's group takes its place, and handles Ctrl-C
// and Ctrl-Z as it would in a shell. The thread that starts the command must live until the command
// has ended.
class ChildProcess {
 public:
  // A failure has the exit code that a shell uses when it cannot run a command.
  static Result<ChildProcess> Start(const ChildOptions& options);

  void Signal(int signal) const;     // sends it only to the command itself
  void SignalAll(int signal) const;  // sends it to the command's whole group

  // Call after SIGCHLD. Returns the exit status once the command has ended, as a shell reports it:
  // 128 plus the signal's number if a signal ended it. If the command was stopped at the terminal,
  // stops this process too, and continues the command afterwards.
  std::optional<int> Poll() const;

 private:
  ChildProcess(pid_t pid, bool has_terminal) : pid_(pid), has_terminal_(has_terminal) {}

  void StopTogether() const;

  pid_t pid_;
  bool has_terminal_;
};

}  // namespace fairlock::cli
