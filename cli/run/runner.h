// Runs a command under a lock, from the request to the release.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/arguments/command.h"
#include "cli/base/clock.h"
#include "cli/base/result.h"
#include "cli/run/child_process.h"
#include "cli/run/lock_session.h"
#include "cli/run/outer_run.h"
#include "cli/run/queue_watch.h"
#include "cli/run/run_options.h"
#include "cli/run/run_report.h"
#include "cli/run/signal_inbox.h"

namespace fairlock::cli {

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
