#include "cli/election/election.h"

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "cli/output/duration.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr DurationMs kSleepMsMax = 60'000;
constexpr DurationMs kRetryMs = 1'000;
// The server is asked every second who leads.
constexpr DurationMs kSilentMsMax = 5'000;

}  // namespace

Election::Election(const RunOptions& options, const std::string& listen,
                   std::optional<DurationMs> duration_ms, Context& context)
    : options_(options),
      listen_(listen),
      context_(context),
      report_(context_, options_),
      watch_(context.settings, context.login, options.keys.front()),
      begun_at_(NowMs()),
      resign_at_(duration_ms ? begun_at_ + *duration_ms : kForever) {}

Result<int> Election::Run() {
  if (!listen_.empty()) {
    auto page = StatusPage::Listen(listen_, [this](auto path) { return AnswerTo(path); });
    if (!page) return report_.Conclude(page.failure());
    page_.emplace(std::move(*page));
    report_.Say("listening", "answers HTTP requests at http://" + page_->address());
  }
  Campaign(begun_at_);
  while (!is_over_) {
    WaitForEvents();
    while (const auto signal = signals_.Take()) HandleSignal(*signal);
    const TimeMs now = NowMs();
    watch_.Advance(now);
    if (session_) session_->Advance(now);
    Check(now);
    if (page_) page_->Advance(now);
  }
  return report_.Conclude(std::move(outcome_));
}

void Election::Campaign(TimeMs now) {
  campaign_at_ = kForever;
  session_.emplace(options_, context_.settings, context_.login);
  session_->Start(now);
}

TimeMs Election::WakeAt() const {
  TimeMs at =
      std::min({watch_.WakeAt(), campaign_at_, kill_at_, is_resigning_ ? kForever : resign_at_});
  if (session_) at = std::min(at, session_->WakeAt());
  if (leads_) at = std::min(at, session_->StopAt());
  if (page_) at = std::min(at, page_->WakeAt());
  return at;
}

void Election::WaitForEvents() {
  std::vector<pollfd> events = {{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0},
                                watch_.Interest()};
  if (session_) events.push_back(session_->Interest());
  if (page_) page_->AddInterest(events);
  const DurationMs left = std::clamp<DurationMs>(WakeAt() - NowMs(), 0, kSleepMsMax);
  ::poll(events.data(), events.size(), static_cast<int>(left));
}

void Election::HandleSignal(int signal) {
  if (signal == SIGCHLD) {
    const auto status = hook_ ? hook_->Poll() : std::nullopt;
    if (!status) return;
    if (*status != 0) {
      report_.Say("hook_failed",
                  "the hook of `" + hook_event_ + "` ended with status " + std::to_string(*status));
    }
    hook_.reset();
    kill_at_ = kForever;
  } else if (signal != SIGWINCH) {
    is_resigning_ = true;
  }
}

void Election::Check(TimeMs now) {
  if (now >= kill_at_ && hook_) {
    hook_->SignalAll(SIGKILL);
    kill_at_ = kForever;
  }
  is_resigning_ |= now >= resign_at_;
  if (is_concluding_) return Conclude(now);
  if (!leads_) return CheckCandidate(now);
  if (session_->state() == LockSession::State::kLost) {
    Lose(now, session_->reason());
  } else if (now >= session_->StopAt()) {
    Lose(now, session_->StopReason());
  } else if (is_resigning_) {
    Lose(now, "it resigns");
  }
}

void Election::CheckCandidate(TimeMs now) {
  if (is_resigning_) {
    is_concluding_ = true;
    return Conclude(now);
  }
  if (!session_) {
    if (now >= campaign_at_) Campaign(now);
    return;
  }
  switch (session_->state()) {
    case LockSession::State::kHeld:
      // The hook of the last end may still be running.
      if (!hook_) Gain(now);
      return;
    case LockSession::State::kFailed:
      // What the server refuses, it will refuse again; a server that is away comes back.
      if (session_->failure().exit_code != kExitUnreachable) {
        outcome_ = session_->failure();
        is_over_ = true;
        return;
      }
      [[fallthrough]];
    case LockSession::State::kDenied:
    case LockSession::State::kLost:
    case LockSession::State::kReleased:
      session_.reset();
      campaign_at_ = now + kRetryMs;
      return;
    default:
      return;
  }
}

void Election::Gain(TimeMs now) {
  if (now >= session_->StopAt()) return Lose(now, session_->StopReason());
  leads_ = true;
  token_ = session_->token();
  report_.Say("gained", context_.errors.Quoted(options_.owner) + " leads " + Key() + ", token " +
                            std::to_string(token_));
  StartHook("gained");
}

void Election::Lose(TimeMs now, const std::string& why) {
  const bool has_led = std::exchange(leads_, false);
  is_concluding_ = true;
  kill_at_ = std::min(now, session_->StopAt()) + options_.kill_after_ms;
  if (hook_) {
    hook_->SignalAll(SIGTERM);
    hook_->SignalAll(SIGCONT);  // a stopped process could not end
  }
  if (has_led) report_.Say("lost", "no longer leads " + Key() + ": " + why);
}

void Election::Conclude(TimeMs now) {
  if (hook_) return;
  if (std::exchange(token_, 0) != 0) {
    const TimeMs kill_at = kill_at_;
    StartHook("lost");
    kill_at_ = kill_at == kForever ? now + options_.kill_after_ms : kill_at;
    if (hook_) return;
  }
  kill_at_ = kForever;
  if (session_ && session_->state() == LockSession::State::kHeld) session_->BeginRelease(now);
  if (session_ && session_->state() < LockSession::State::kHeld) session_->BeginRelease(now);
  if (session_ && session_->state() < LockSession::State::kReleased) return;
  session_.reset();
  is_concluding_ = false;
  is_over_ = is_resigning_;
  campaign_at_ = now;
}

void Election::StartHook(std::string_view event) {
  if (options_.command.empty()) return;
  hook_event_ = event;
  const std::int64_t token = session_ ? session_->token() : 0;
  auto hook = ChildProcess::Start(
      {.command = options_.command,
       .variables = {"FAIRLOCK_EVENT=" + hook_event_, "FAIRLOCK_KEY=" + options_.keys.front(),
                     "FAIRLOCK_OWNER=" + options_.owner, "FAIRLOCK_TOKEN=" + std::to_string(token)},
       .signal_if_orphaned = SIGTERM});
  if (hook) {
    hook_.emplace(std::move(*hook));
  } else {
    report_.Say("hook_failed", hook.failure().text);
  }
}

std::string Election::Describe() const {
  boost::json::object object;
  json::AddText(object, "key", options_.keys.front());
  json::AddText(object, "owner", options_.owner);
  object["is_leader"] = leads_;
  const std::optional<Leader> leader =
      leads_ ? Leader{.owner = options_.owner, .token = token_} : watch_.leader();
  object["name"] = nullptr;
  object["token"] = nullptr;
  if (leader) {
    json::AddText(object, "name", leader->owner);
    object["token"] = leader->token;
  }
  object["age_ms"] = leads_                   ? boost::json::value(0)
                     : watch_.heard_at() == 0 ? boost::json::value(nullptr)
                                              : boost::json::value(NowMs() - watch_.heard_at());
  return json::Written(object) + "\n";
}

PageAnswer Election::AnswerTo(std::string_view path) const {
  if (path == "/") return {.body = Describe(), .type = "application/json"};
  if (path == "/leaderz") {
    return leads_ ? PageAnswer{.body = "leader\n"}
                  : PageAnswer{.status = 503, .body = "not the leader\n"};
  }
  if (path != "/healthz") return {.status = 404, .body = "there is /, /healthz and /leaderz\n"};
  const DurationMs silent_ms = NowMs() - std::max(watch_.heard_at(), begun_at_);
  if (silent_ms <= kSilentMsMax) return {.body = "ok\n"};
  return {.status = 503,
          .body = "the lock server has not answered for " + ShowDuration(silent_ms) + "\n"};
}

namespace {

std::string LineOf(const std::optional<Leader>& leader, const ObserveOptions& options,
                   const Screen& screen) {
  if (!options.is_json) {
    const std::string at = ShowTimeOfDay(UnixTimeMs());
    if (!leader) return at + "  nobody leads " + screen.Printable(options.key) + "\n";
    return at + "  " + screen.Printable(leader->owner) + " leads " + screen.Printable(options.key) +
           ", token " + std::to_string(leader->token) + "\n";
  }
  boost::json::object object;
  object["at"] = UnixTimeMs();
  json::AddText(object, "key", options.key);
  object["name"] = nullptr;
  object["token"] = nullptr;
  if (leader) {
    json::AddText(object, "name", leader->owner);
    object["token"] = leader->token;
  }
  return json::Written(object) + "\n";
}

}  // namespace

Result<int> Observe(const ObserveOptions& options, Context& context) {
  LeaderWatch watch(context.settings, context.login, options.key);
  const TimeMs begun_at = NowMs();
  const TimeMs until = options.duration_ms ? begun_at + *options.duration_ms : kForever;
  std::int64_t left = options.count.value_or(INT64_MAX);
  bool has_shown = false;
  std::optional<Leader> shown;
  for (TimeMs now = begun_at; left > 0 && now < until; now = NowMs()) {
    watch.Advance(now);
    if (watch.heard_at() == 0 && now - begun_at > kSilentMsMax) {
      return Failure{kExitUnreachable,
                     "the lock server has not answered for " + ShowDuration(now - begun_at)};
    }
    if (watch.heard_at() != 0 && (!has_shown || shown != watch.leader())) {
      has_shown = true;
      shown = watch.leader();
      --left;
      if (!context.Print(LineOf(shown, options, context.out))) break;
      continue;
    }
    pollfd event = watch.Interest();
    const TimeMs wake_at = std::min({watch.WakeAt(), until, now + kRetryMs});
    ::poll(&event, 1, static_cast<int>(std::max<DurationMs>(wake_at - now, 0)));
  }
  return kExitDone;
}

}  // namespace fairlock::cli
