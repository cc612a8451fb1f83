#include "cli/run/runner.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "cli/output/duration.h"

namespace fairlock::cli {

namespace {

constexpr DurationMs kSleepMsMax = 60'000;

}  // namespace

Runner::Runner(const RunOptions& options, const Context& context)
    : options_(options),
      context_(context),
      report_(context_, options_),
      keeper_(options, context.settings, context.login) {}

Result<int> Runner::Run() {
  const TimeMs begin = NowMs();
  keeper_.Start(begin);
  queue_watch_.emplace(context_, options_, report_, begin);
  while (!is_over_) {
    WaitForNews();
    while (const auto signal = signals_.Take()) TakeSignal(*signal);
    const TimeMs now = NowMs();
    if (queue_watch_) queue_watch_->Advance(now);
    keeper_.Advance(now);
    LookAtLock(now);
  }
  return report_.Conclude(std::move(outcome_));
}

std::string Runner::Keys() const { return NameKeys(options_.keys, context_.errors); }

TimeMs Runner::WakeAt() const {
  TimeMs at = std::min(kill_at_, keeper_.WakeAt());
  if (queue_watch_) at = std::min(at, queue_watch_->WakeAt());
  return at;
}

void Runner::WaitForNews() {
  std::array<pollfd, 3> news = {{{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0},
                                 keeper_.Interest(),
                                 {.fd = -1, .events = 0, .revents = 0}}};
  if (queue_watch_) news[2] = queue_watch_->Interest();
  const DurationMs left = std::clamp<DurationMs>(WakeAt() - NowMs(), 0, kSleepMsMax);
  ::poll(news.data(), news.size(), static_cast<int>(left));
}

void Runner::TakeSignal(int signal) {
  if (signal == SIGCHLD) {
    const auto status = command_ ? command_->Look() : std::nullopt;
    if (status) OnCommandEnded(*status);
  } else if (command_) {
    command_->Signal(signal);
  } else if (signal != SIGWINCH && phase_ == Phase::kObtaining) {
    Release(kExitSignal + signal);
  }
}

void Runner::LookAtLock(TimeMs now) {
  switch (phase_) {
    case Phase::kObtaining:
      return LookAtObtaining();
    case Phase::kRunning:
      if (keeper_.state() == LockKeeper::State::kLost) StopCommand(now);
      return;
    case Phase::kStopping:
      if (now < kill_at_) return;
      command_->SignalAll(SIGKILL);
      kill_at_ = kForever;
      return;
    case Phase::kReleasing:
      return LookAtReleasing();
  }
}

void Runner::LookAtObtaining() {
  switch (keeper_.state()) {
    case LockKeeper::State::kHeld:
      return StartCommand();
    case LockKeeper::State::kDenied:
      outcome_ =
          Failure{options_.conflict_exit_code,
                  Keys() + (options_.keys.size() == 1 ? " was" : " were") +
                      " not obtained: " + keeper_.reason() + "; `fairlockctl why` tells more"};
      break;
    case LockKeeper::State::kFailed:
      outcome_ = keeper_.failure();
      break;
    case LockKeeper::State::kLost:
      outcome_ =
          Failure{kExitLost, "lost " + Keys() + " before the command began: " + keeper_.reason()};
      break;
    default:
      return;
  }
  queue_watch_.reset();
  is_over_ = true;
}

void Runner::StartCommand() {
  queue_watch_.reset();
  std::string keys;
  for (const std::string& key : options_.keys) keys += (keys.empty() ? "" : "\n") + key;
  Result<ChildProcess> command = ChildProcess::Start(
      {.command = options_.command,
       .variables = {"FAIRLOCK_KEY=" + options_.keys.front(), "FAIRLOCK_KEYS=" + keys,
                     "FAIRLOCK_OWNER=" + options_.owner,
                     "FAIRLOCK_TOKEN=" + std::to_string(keeper_.token())},
       // A session ends with us, so the command must end at once; a lease leaves it some time.
       .signal_if_orphaned = options_.is_session ? SIGKILL : SIGTERM});
  if (!command) return Release(command.failure());
  command_.emplace(std::move(*command));
  report_.Count("granted", "token", keeper_.token());
  phase_ = Phase::kRunning;
}

void Runner::StopCommand(TimeMs now) {
  // Before a word is said: standard error may be a pipe that nobody reads.
  phase_ = Phase::kStopping;
  kill_at_ = now + options_.kill_after_ms;
  command_->SignalAll(SIGTERM);
  command_->SignalAll(SIGCONT);  // one that is stopped could not end
  report_.Say("lost", "lost " + Keys() + ": " + keeper_.reason() + "; the command is ended");
}

void Runner::OnCommandEnded(int status) {
  report_.Count("ended", "status", status);
  if (phase_ == Phase::kStopping) {
    command_->SignalAll(SIGKILL);  // what it has left behind holds no lock either
    command_.reset();
    outcome_ = kExitLost;
    keeper_.BeginReleaseOfRest(NowMs());
    is_over_ = keeper_.state() != LockKeeper::State::kReleasing;
    phase_ = Phase::kReleasing;
    return;
  }
  command_.reset();
  Release(status);
}

void Runner::Release(Result<int> outcome) {
  queue_watch_.reset();
  outcome_ = std::move(outcome);
  phase_ = Phase::kReleasing;
  keeper_.BeginRelease(NowMs());
}

void Runner::LookAtReleasing() {
  switch (keeper_.state()) {
    case LockKeeper::State::kReleased:
      if (!keeper_.reason().empty()) report_.Say("unconfirmed", keeper_.reason());
      break;
    case LockKeeper::State::kLost:
      outcome_ =
          Failure{kExitLost, "lost " + Keys() + " while the command ran: " + keeper_.reason()};
      break;
    case LockKeeper::State::kDenied:
    case LockKeeper::State::kFailed:
      break;
    default:
      return;
  }
  is_over_ = true;
}

}  // namespace fairlock::cli
