#include "cli/run/signal_inbox.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace fairlock::cli {

namespace {

constexpr auto kSignals = std::to_array<int>(
    {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCHLD});

bool IsIgnored(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

SignalInbox::SignalInbox() {
  // If SIGCHLD were ignored, children could not be waited for.
  std::signal(SIGCHLD, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kSignals) {
    if (!IsIgnored(signal)) sigaddset(&set, signal);
  }
  sigprocmask(SIG_BLOCK, &set, nullptr);
  descriptor_.Reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::optional<int> SignalInbox::Take() {
  signalfd_siginfo info{};
  if (::read(descriptor_.number(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace fairlock::cli
