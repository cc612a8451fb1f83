// Takes part in the election of a leader: whoever holds the key leads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments/command.h"
#include "cli/base/clock.h"
#include "cli/base/result.h"
#include "cli/election/leader_watch.h"
#include "cli/election/status_page.h"
#include "cli/run/child_process.h"
#include "cli/run/lock_session.h"
#include "cli/run/queue_watch.h"
#include "cli/run/runner.h"

namespace fairlock::cli {

// Campaigns until a signal ends it, and then resigns. Never says that it leads for longer than it
// can prove; it stops saying so before its lease ends, early enough for the hook to end.
//
// The hook is a command: `options.command`, if that is not empty. It runs when this process begins
// to lead and when it stops, with FAIRLOCK_EVENT `gained` or `lost` in its environment. Only one
// runs at a time. A hook that still runs when the leadership ends gets SIGTERM, and so does the
// hook of the end before the lease is over; then SIGKILL.
class Election {
 public:
  // `listen` is where to answer HTTP requests; empty for nowhere. After `duration_ms`, if it is
  // given, it resigns as after a signal.
  Election(const RunOptions& options, const std::string& listen,
           std::optional<DurationMs> duration_ms, Context& context);

  // Returns the exit status of fairlockctl.
  Result<int> Run();

 private:
  void Campaign(TimeMs now);
  void WaitForEvents();
  TimeMs WakeAt() const;
  void HandleSignal(int signal);
  void Check(TimeMs now);
  void CheckCandidate(TimeMs now);
  void Gain(TimeMs now);
  void Lose(TimeMs now, const std::string& why);
  // After the end of a leadership: releases the key once the hook has ended, and campaigns again or
  // ends.
  void Conclude(TimeMs now);
  void StartHook(std::string_view event);
  PageAnswer AnswerTo(std::string_view path) const;
  std::string Describe() const;
  std::string Key() const { return context_.errors.Quoted(options_.keys.front()); }

  RunOptions options_;
  std::string listen_;
  Context& context_;
  RunReport report_;
  SignalInbox signals_;
  LeaderWatch watch_;
  std::optional<StatusPage> page_;
  std::optional<LockSession> session_;  // none while it waits before the next campaign
  std::optional<ChildProcess> hook_;
  std::string hook_event_;  // the event whose hook runs
  std::int64_t token_ = 0;  // of the newest leadership
  bool leads_ = false;
  bool is_concluding_ = false;
  bool is_resigning_ = false;  // a signal has asked it to end
  bool is_over_ = false;
  TimeMs begun_at_ = 0;
  TimeMs resign_at_ = kForever;
  TimeMs campaign_at_ = kForever;
  TimeMs kill_at_ = kForever;
  Result<int> outcome_ = 0;
};

// Prints who leads, and each change of it, until `until` or until `count` lines were printed.
struct ObserveOptions {
  std::string key;
  std::optional<std::int64_t> count;
  std::optional<DurationMs> duration_ms;
  bool is_json = false;
};
Result<int> Observe(const ObserveOptions& options, Context& context);

}  // namespace fairlock::cli
