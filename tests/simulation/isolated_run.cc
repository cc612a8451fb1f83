#include "tests/simulation/isolated_run.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace fairlock::simulation {
namespace {

[[noreturn]] void BeChild(const ChildOptions& options, const std::function<int()>& body) {
  // An intended assertion failure needs no core dump.
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  LimitTime(options.seconds_max);
  if (options.is_quiet) {
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
  }
  const int code = body();
  std::cout.flush();
  // At exit, a sanitizer checks for leaks. A quiet child skips that, because only its exit code
  // matters.
  if (options.is_quiet) _exit(code);
  std::exit(code);
}

}  // namespace

void LimitTime(unsigned seconds) {
  const itimerval time{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
  setitimer(ITIMER_PROF, &time, nullptr);
}

ChildEnd RunInChild(const ChildOptions& options, const std::function<int()>& body) {
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t child = fork();
  assert(child >= 0);
  if (child == 0) BeChild(options, body);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) assert(errno == EINTR);
  if (WIFSIGNALED(status)) return {.was_killed = true, .code = WTERMSIG(status)};
  return {.was_killed = false, .code = WEXITSTATUS(status)};
}

}  // namespace fairlock::simulation
