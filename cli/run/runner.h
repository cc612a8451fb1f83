// Runs a command under a lock, from the line to the release.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/arguments/command.h"
#include "cli/base/clock.h"
#include "cli/base/result.h"
#include "cli/run/child_process.h"
#include "cli/run/lock_keeper.h"
#include "cli/run/queue_watch.h"
#include "cli/run/run_options.h"
#include "cli/run/run_report.h"
#include "cli/run/signal_inbox.h"

namespace fairlock::cli {

class Runner {
 public:
  Runner(const RunOptions& options, const Context& context);

  // The exit status of the tool.
  Result<int> Run();

 private:
  enum class Phase : std::uint8_t {
    kObtaining,
    kRunning,
    kStopping,   // the lock was lost; the command has to go
    kReleasing,  // the command has ended, or never began
  };

  void WaitForNews();
  TimeMs WakeAt() const;
  std::string Keys() const;  // for messages
  void TakeSignal(int signal);
  void LookAtLock(TimeMs now);
  void LookAtObtaining();
  void LookAtReleasing();
  void StartCommand();
  void StopCommand(TimeMs now);
  void OnCommandEnded(int status);
  void Release(Result<int> outcome);

  RunOptions options_;
  const Context& context_;
  RunReport report_;
  SignalInbox signals_;
  LockKeeper keeper_;
  std::optional<QueueWatch> queue_watch_;  // while it waits
  std::optional<ChildProcess> command_;    // while it runs
  Phase phase_ = Phase::kObtaining;
  TimeMs kill_at_ = kForever;
  Result<int> outcome_ = 0;  // what is to be returned after the release
  bool is_over_ = false;
};

}  // namespace fairlock::cli
