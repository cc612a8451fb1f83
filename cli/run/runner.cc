#include "cli/run/runner.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "cli/output/duration.h"
#include "cli/views/lock_views.h"
#include "cli/views/server_locks.h"

namespace fairlock::cli {

namespace {

constexpr DurationMs kSleepMsMax = 60'000;

}  // namespace

Runner::Runner(const RunOptions& options, Context& context)
    : options_(options),
      context_(context),
      report_(context_, options_),
      session_(options, context.settings, context.login) {}

Result<int> Runner::Run() {
  if (const auto outer = FindOuterHold(options_, context_.client)) {
    return report_.Conclude(Failure{options_.conflict_exit_code, NestingText(*outer)});
  }
  const TimeMs begin = NowMs();
  session_.Start(begin);
  queue_watch_.emplace(context_, options_, report_, begin);
  while (!is_over_) {
    WaitForEvents();
    while (const auto signal = signals_.Take()) HandleSignal(*signal);
    const TimeMs now = NowMs();
    if (queue_watch_) queue_watch_->Advance(now);
    session_.Advance(now);
    CheckLock(now);
  }
  return report_.Conclude(std::move(outcome_));
}

std::string Runner::Keys() const { return NameKeys(options_.keys, context_.errors); }

TimeMs Runner::WakeAt() const {
  TimeMs at = std::min(kill_at_, session_.WakeAt());
  if (phase_ == Phase::kRunning) at = std::min(at, session_.StopAt());
  if (queue_watch_) at = std::min(at, queue_watch_->WakeAt());
  return at;
}

void Runner::WaitForEvents() {
  std::array<pollfd, 3> events = {{{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0},
                                   session_.Interest(),
                                   {.fd = -1, .events = 0, .revents = 0}}};
  if (queue_watch_) events[2] = queue_watch_->Interest();
  const DurationMs left = std::clamp<DurationMs>(WakeAt() - NowMs(), 0, kSleepMsMax);
  ::poll(events.data(), events.size(), static_cast<int>(left));
}

void Runner::HandleSignal(int signal) {
  if (signal == SIGCHLD) {
    const auto status = command_ ? command_->Poll() : std::nullopt;
    if (status) OnCommandEnded(*status);
  } else if (command_) {
    command_->Signal(signal);
  } else if (signal != SIGWINCH && phase_ == Phase::kObtaining) {
    Release(kExitSignal + signal);
  }
}

void Runner::CheckLock(TimeMs now) {
  switch (phase_) {
    case Phase::kObtaining:
      return CheckObtaining();
    case Phase::kRunning:
      return CheckRunning(now);
    case Phase::kStopping:
      if (now < kill_at_) return;
      command_->SignalAll(SIGKILL);
      kill_at_ = kForever;
      return;
    case Phase::kReleasing:
      return CheckReleasing();
  }
}

std::string Runner::NestingText(const OuterHold& outer) const {
  return Keys() + (options_.keys.size() == 1 ? " was" : " were") +
         " not obtained: this `run` is part of the command of " +
         context_.errors.Quoted(outer.owner) + ", which holds " +
         context_.errors.Quoted(outer.key) +
         " until that command has ended; leave out the inner `run`, or give it another key";
}

// The session's connection is for its own requests, so the lock is looked up on another one.
std::string Runner::DenialText() {
  std::string text = Keys() + (options_.keys.size() == 1 ? " was" : " were") +
                     " not obtained: " + session_.reason();
  const WaitChain chain = FindBlockers({.owner = options_.owner,
                                        .keys = options_.keys,
                                        .is_shared = options_.words.is_shared,
                                        .limit = options_.words.limit.value_or(1)},
                                       context_.client, context_.settings, context_.login);
  text += MeaningOf(session_.reason());
  // The user may not be allowed to read the lock.
  const std::string blockers =
      chain.links.empty() ? session_.failure().text : ChainSentence(chain, context_.errors);
  if (!blockers.empty()) text += "; " + blockers;
  const std::string& key = chain.links.empty() ? options_.keys.front() : chain.links.front().key;
  return text + "; " + WhyCommand(key) + " says more";
}

void Runner::CheckObtaining() {
  switch (session_.state()) {
    case LockSession::State::kHeld:
      return StartCommand();
    case LockSession::State::kDenied:
      outcome_ = Failure{options_.conflict_exit_code, DenialText()};
      break;
    case LockSession::State::kFailed:
      outcome_ = session_.failure();
      if (session_.failure().exit_code == kExitNotObtained) {
        outcome_ = Failure{options_.conflict_exit_code, session_.failure().text};
      }
      break;
    case LockSession::State::kLost:
      outcome_ =
          Failure{kExitLost, "lost " + Keys() + " before the command began: " + session_.reason()};
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
                     "FAIRLOCK_TOKEN=" + std::to_string(session_.token()),
                     TokensVariable(session_.token())},
       // A session ends with this process, so the command must end at once; a lease leaves it some
       // time.
       .signal_if_orphaned = options_.is_session ? SIGKILL : SIGTERM});
  if (!command) return Release(command.failure());
  command_.emplace(std::move(*command));
  report_.ReportNumber("granted", "token", session_.token());
  phase_ = Phase::kRunning;
}

void Runner::CheckRunning(TimeMs now) {
  if (session_.state() == LockSession::State::kLost) {
    StopCommand(now, "lost " + Keys() + ": " + session_.reason());
  } else if (now >= session_.StopAt()) {
    StopCommand(now, "losing " + Keys() + ": " + session_.StopReason());
  }
}

void Runner::StopCommand(TimeMs now, const std::string& why) {
  // Signal before printing: standard error may be a pipe that nobody reads.
  phase_ = Phase::kStopping;
  kill_at_ = std::min(now, session_.StopAt()) + options_.kill_after_ms;
  command_->SignalAll(SIGTERM);
  command_->SignalAll(SIGCONT);  // a stopped process could not end
  report_.Say("lost", why + "; ending the command");
}

void Runner::OnCommandEnded(int status) {
  report_.ReportNumber("ended", "status", status);
  if (phase_ == Phase::kStopping) {
    command_->SignalAll(SIGKILL);  // the command's remaining processes hold no lock either
    command_.reset();
    outcome_ = kExitLost;
    if (session_.state() == LockSession::State::kHeld) {
      session_.BeginRelease(NowMs());
    } else {
      session_.BeginPartialRelease(NowMs());
    }
    is_over_ = session_.state() != LockSession::State::kReleasing;
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
  session_.BeginRelease(NowMs());
}

void Runner::CheckReleasing() {
  switch (session_.state()) {
    case LockSession::State::kReleased:
      if (!session_.reason().empty()) report_.Say("unconfirmed", session_.reason());
      break;
    case LockSession::State::kLost:
      outcome_ =
          Failure{kExitLost, "lost " + Keys() + " while the command ran: " + session_.reason()};
      break;
    case LockSession::State::kDenied:
    case LockSession::State::kFailed:
      break;
    default:
      return;
  }
  is_over_ = true;
}

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

namespace {

constexpr const char* kTokens = "FAIRLOCK_TOKENS";

std::string OuterTokens() {
  const char* const tokens = std::getenv(kTokens);
  return tokens == nullptr ? "" : tokens;
}

// Whether the request could not be granted even if there were no other holder.
bool Excludes(const ClaimantView& holder, const LockArguments& words) {
  if (holder.is_shared() || words.is_shared) return holder.is_shared() != words.is_shared;
  return std::min(holder.limit, words.limit.value_or(1)) < 2;
}

}  // namespace

std::string TokensVariable(std::int64_t own_token) {
  const std::string outer = OuterTokens();
  return std::string(kTokens) + "=" + outer + (outer.empty() ? "" : " ") +
         std::to_string(own_token);
}

std::optional<OuterHold> FindOuterHold(const RunOptions& options, Client& client) {
  std::istringstream tokens(OuterTokens());
  std::vector<std::int64_t> outer;
  for (std::int64_t token = 0; tokens >> token;) outer.push_back(token);
  if (outer.empty()) return std::nullopt;
  for (const std::string& key : options.keys) {
    const Result<LockView> lock = FetchLock(client, key);
    if (!lock) return std::nullopt;
    for (const HolderView& holder : lock->holders) {
      const bool is_outer = std::ranges::find(outer, holder.token) != outer.end();
      if (is_outer && Excludes(holder.who, options.words)) return OuterHold{key, holder.who.owner};
    }
  }
  return std::nullopt;
}

}  // namespace fairlock::cli
