// Runs a command under a lock, from the request to the release.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/arguments/command.h"
#include "cli/base/clock.h"
#include "cli/base/descriptor.h"
#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "cli/run/child_process.h"
#include "cli/run/lock_session.h"
#include "cli/run/queue_watch.h"

namespace fairlock::cli {

// The `run`s that a `run` is started in, by their commands: it would wait for them, and they for
// it. The variable FAIRLOCK_TOKENS of a command: the tokens of all runs that it runs in.
std::string TokensVariable(std::int64_t own_token);

struct OuterHold {
  std::string key;
  std::string owner;
};

// A hold of an outer run that excludes the request as long as it lasts; nullopt if there is none,
// or if the locks cannot be read. Asks the server only in an outer run.
std::optional<OuterHold> FindOuterHold(const RunOptions& options, Client& client);

// Receives signals through a file descriptor. Receives SIGCHLD and the signals that end, stop or
// notify a program. Signals that were ignored before (by nohup, for instance) stay ignored. Must be
// created before any thread is started; only one may exist at a time.
class SignalInbox {
 public:
  SignalInbox();

  int descriptor() const { return descriptor_.number(); }  // readable when a signal has arrived
  std::optional<int> Take();

 private:
  Descriptor descriptor_;
};

class Runner {
 public:
  Runner(const RunOptions& options, Context& context);

  // Returns the exit status of fairlockctl.
  Result<int> Run();

 private:
  enum class Phase : std::uint8_t {
    kObtaining,
    kRunning,
    kStopping,   // the lock was lost, or soon will be; the command is being ended
    kReleasing,  // the command has ended, or never started
  };

  void WaitForEvents();
  TimeMs WakeAt() const;
  std::string Keys() const;  // quoted, for messages
  void HandleSignal(int signal);
  void CheckLock(TimeMs now);
  void CheckObtaining();
  std::string DenialText();
  std::string NestingText(const OuterHold& outer) const;
  void CheckReleasing();
  void StartCommand();
  void CheckRunning(TimeMs now);
  void StopCommand(TimeMs now, const std::string& why);
  void OnCommandEnded(int status);
  void Release(Result<int> outcome);

  RunOptions options_;
  Context& context_;
  RunReport report_;
  SignalInbox signals_;
  LockSession session_;
  std::optional<QueueWatch> queue_watch_;  // while waiting for the lock
  std::optional<ChildProcess> command_;    // while the command runs
  Phase phase_ = Phase::kObtaining;
  TimeMs kill_at_ = kForever;
  Result<int> outcome_ = 0;  // returned after the release
  bool is_over_ = false;
};

}  // namespace fairlock::cli
