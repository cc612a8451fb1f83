#include "cli/run/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "cli/base/descriptor.h"
#include "cli/base/result.h"
#include "cli/output/printable.h"

namespace fairlock::cli {

namespace {

bool HasTerminal() { return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp(); }

// From the background, tcsetpgrp() would stop this process with SIGTTOU, so SIGTTOU is blocked
// during the call, in parent and child alike.
void GiveTerminalTo(pid_t group) {
  sigset_t stop;
  sigset_t before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTTOU);
  sigprocmask(SIG_BLOCK, &stop, &before);
  ::tcsetpgrp(STDIN_FILENO, group);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

void UnblockAllSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Runs in the child. Returns only if execvp() fails, with its errno, which the caller sends through
// the pipe.
int ExecuteCommand(const ChildOptions& options, const std::vector<char*>& command,
                   bool has_terminal, pid_t parent) {
  ::setpgid(0, 0);
  if (has_terminal) GiveTerminalTo(::getpid());
  ::prctl(PR_SET_PDEATHSIG, options.signal_if_orphaned);
  if (::getppid() != parent) ::_exit(kExitCannotRun);  // the parent died before prctl()
  for (const std::string& variable : options.variables) {
    ::putenv(const_cast<char*>(variable.c_str()));
  }
  UnblockAllSignals();
  ::execvp(command[0], command.data());
  return errno;
}

// Returns 0 if the command runs.
int ReadError(int pipe) {
  int error = 0;
  while (::read(pipe, &error, sizeof(error)) < 0 && errno == EINTR) continue;
  return error;
}

Failure CannotRun(const std::string& name, int error) {
  return {error == ENOENT ? kExitNoCommand : kExitCannotRun,
          "cannot run " + Quoted(name) + ": " + std::strerror(error)};
}

}  // namespace

Result<ChildProcess> ChildProcess::Start(const ChildOptions& options) {
  const std::vector<char*> command = Pointers(options.command);
  const bool has_terminal = HasTerminal();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return CannotRun(options.command[0], errno);
  Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return CannotRun(options.command[0], errno);
  if (pid == 0) {
    const int error = ExecuteCommand(options, command, has_terminal, parent);
    const ssize_t written = ::write(writing.number(), &error, sizeof(error));
    ::_exit(written > 0 ? kExitCannotRun : kExitCannotRun + 1);
  }
  ::setpgid(pid, pid);  // in parent and child, as either may run first
  writing.Reset();
  const int error = ReadError(reading.number());
  if (error == 0) return ChildProcess(pid, has_terminal);
  ::waitpid(pid, nullptr, 0);
  if (has_terminal) GiveTerminalTo(::getpgrp());
  return CannotRun(options.command[0], error);
}

void ChildProcess::Signal(int signal) const { ::kill(pid_, signal); }

void ChildProcess::SignalAll(int signal) const { ::kill(-pid_, signal); }

std::optional<int> ChildProcess::Poll() const {
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_) {
    if (WIFSTOPPED(status)) {
      if (has_terminal_) StopTogether();
      continue;
    }
    if (has_terminal_) GiveTerminalTo(::getpgrp());
    return WIFEXITED(status) ? WEXITSTATUS(status) : kExitSignal + WTERMSIG(status);
  }
  return std::nullopt;
}

void ChildProcess::StopTogether() const {
  GiveTerminalTo(::getpgrp());
  ::kill(0, SIGSTOP);
  // The shell has continued this process.
  GiveTerminalTo(pid_);
  SignalAll(SIGCONT);
}

}  // namespace fairlock::cli
