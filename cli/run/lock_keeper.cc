#include "cli/run/lock_keeper.h"

#include <algorithm>

#include "cli/connection/reply_fields.h"
#include "cli/connection/server_errors.h"
#include "cli/output/duration.h"
#include "cli/views/lock_message.h"

namespace fairlock::cli {

namespace {

// How often the server is asked, beside what the lease demands: finds a BREAK that was not heard.
constexpr DurationMs kAskEveryMs = 5000;
constexpr DurationMs kBackoffFirstMs = 20;
constexpr DurationMs kBackoffMaxMs = 1000;
// The pause before a request is repeated that the server could not serve just now.
constexpr DurationMs kRetryMs = 250;
// A connection that closes ends a session without grace. So long we try to find out whether it was
// only the server that was restarted: then the session lives on.
constexpr DurationMs kFindOutMs = 1000;
// For which a server keeps sessions after a restart, if nobody changed its `restart_grace`.
constexpr DurationMs kRestartGraceMs = 30'000;
// How long an unreachable server is waited for by those who hold no lease.
constexpr DurationMs kPatienceMs = 30'000;

std::string Number(std::int64_t number) { return std::to_string(number); }

}  // namespace

LockKeeper::LockKeeper(const RunOptions& options, const Settings& settings, Login login)
    : options_(options), settings_(settings), wire_(settings, std::move(login)) {}

void LockKeeper::Start(TimeMs now) {
  const DurationMs wait_ms = options_.words.wait_ms.value_or(kForever);
  wait_until_ = wait_ms >= kForever ? kForever : now + wait_ms;
  Reopen(now);
}

void LockKeeper::BeginRelease(TimeMs now) {
  if (IsOver()) return;
  const bool is_behind_wait = state_ == State::kAsking;
  release_until_ = std::min(now + settings_.timeout_ms, HeldUntil());
  state_ = State::kReleasing;
  // On a connection that waits nothing else is executed.
  if (is_behind_wait) return was_connected_ ? Reopen(now) : void(state_ = State::kReleased);
  if (wire_.state() != Wire::State::kClosed) AskToUnlock(now);
}

void LockKeeper::BeginReleaseOfRest(TimeMs now) {
  if (state_ != State::kLost || options_.keys.size() == 1 || !wire_.is_ready()) return;
  is_rest_ = true;
  release_until_ = now + settings_.timeout_ms;
  state_ = State::kReleasing;
  reason_.clear();
  AskToUnlock(now);
}

TimeMs LockKeeper::HeldUntil() const {
  if (!options_.is_session || unreachable_since_ == kForever) return lease_until_;
  const DurationMs grace = std::max(options_.grace_ms, was_refused_ ? kRestartGraceMs : kFindOutMs);
  return std::min(lease_until_, unreachable_since_ + grace);
}

TimeMs LockKeeper::GiveUpAt() const {
  switch (state_) {
    case State::kAsking:
      return unreachable_since_ == kForever ? kForever : unreachable_since_ + kPatienceMs;
    case State::kConfirming:
    case State::kHeld:
      return HeldUntil();
    default:
      return release_until_;
  }
}

TimeMs LockKeeper::AnswerDueAt() const {
  if (wire_.state() == Wire::State::kClosed || sent_.empty()) return kForever;
  return wire_.is_ready() ? sent_.front().due_at : opened_at_ + 2 * settings_.timeout_ms;
}

TimeMs LockKeeper::WakeAt() const {
  return std::min({wire_.WakeAt(), reopen_at_, ask_at_, GiveUpAt(), AnswerDueAt()});
}

void LockKeeper::Advance(TimeMs now) {
  wire_.Advance(now);
  while (!IsOver()) {
    const auto reply = wire_.Take();
    if (!reply) break;
    TakeReply(*reply, now);
  }
  if (IsOver()) return;
  if (wire_.is_ready()) GoOnAfterConnecting();
  if (wire_.state() == Wire::State::kClosed && reopen_at_ == kForever) {
    OnDisconnect(wire_.end(), now);
  }
  RunTimers(now);
}

void LockKeeper::GoOnAfterConnecting() {
  was_connected_ = true;
  // A session counts as unreachable until it is known to live on.
  const auto rejoin = std::ranges::find(sent_, Request::kRejoin, &Sent::request);
  if (rejoin != sent_.end()) return;
  unreachable_since_ = kForever;
  was_refused_ = false;
  backoff_ms_ = 0;
}

void LockKeeper::OnDisconnect(const Failure& why, TimeMs now) {
  sent_.clear();
  ask_at_ = kForever;
  failure_ = why;
  if (!was_connected_ && state_ == State::kAsking) return Fail(why);
  if (unreachable_since_ == kForever) unreachable_since_ = now;
  was_refused_ = was_refused_ || wire_.was_refused();
  backoff_ms_ = std::clamp(backoff_ms_ * 2, kBackoffFirstMs, kBackoffMaxMs);
  reopen_at_ = now + backoff_ms_;
}

void LockKeeper::Reopen(TimeMs now) {
  reopen_at_ = kForever;
  sent_.clear();
  is_listening_ = false;
  opened_at_ = now;
  wire_.Open(now);
  switch (state_) {
    case State::kAsking:
      return AskForLock(now);
    case State::kConfirming:
    case State::kHeld:
      return options_.is_session ? AskToRejoin(now) : AskWhetherHeld(now);
    case State::kReleasing:
      return AskToUnlock(now);
    default:
      return;
  }
}

void LockKeeper::RunTimers(TimeMs now) {
  if (now >= GiveUpAt()) return GiveUp(now);
  if (now >= reopen_at_) Reopen(now);
  if (now >= AnswerDueAt()) {
    wire_.Close();
    OnDisconnect({kExitUnreachable, wire_.ServerName() + " did not answer within " +
                                        ShowDuration(settings_.timeout_ms)},
                 now);
  }
  if (now < ask_at_) return;
  ask_at_ = kForever;
  return state_ == State::kAsking ? AskForLock(now) : AskWhetherHeld(now);
}

void LockKeeper::GiveUp(TimeMs now) {
  if (state_ == State::kAsking) return Fail(failure_);
  if (state_ == State::kReleasing) {
    state_ = State::kReleased;
    reason_ = wire_.ServerName() + " did not confirm the release; the lease will end by itself";
    return;
  }
  Lose(wire_.ServerName() + " could not be reached before the " +
       (lease_until_ <= now ? "lease" : "session's grace") + " was over");
}

// Requests

void LockKeeper::Send(Request request, const std::vector<std::string>& words, TimeMs now,
                      TimeMs due_at) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  sent_.push_back({request, now, due_at});
  wire_.Send(views);
}

std::vector<std::string> LockKeeper::LockWordsNow(TimeMs now) const {
  LockWords words = options_.words;
  words.wait_ms = wait_until_ >= kForever ? kForever : std::max<DurationMs>(wait_until_ - now, 0);
  if (state_ != State::kAsking) words.wait_ms.reset();
  std::vector<std::string> request = LockRequest(options_.keys, options_.owner, words);
  if (options_.is_session) {
    request.emplace_back("SESSION");
    if (options_.grace_ms > 0) AddDuration(request, "GRACE", options_.grace_ms);
  }
  // Whoever gave the owner may have given it twice; asked again, it is our own hold that we find.
  if (options_.is_owner_given && state_ == State::kAsking && !was_connected_) {
    request.emplace_back("NEW");
  }
  request.emplace_back("EXPLAIN");
  return request;
}

void LockKeeper::AskForLock(TimeMs now) {
  const TimeMs until = std::max(wait_until_, now);
  Send(Request::kLock, LockWordsNow(now), now,
       until == kForever ? kForever : until + settings_.timeout_ms);
}

void LockKeeper::AskToRejoin(TimeMs now) {
  Send(Request::kRejoin, LockWordsNow(now), now, now + settings_.timeout_ms);
}

void LockKeeper::AskWhetherHeld(TimeMs now) {
  if (!is_listening_) Listen(now);
  std::vector<std::string> words = {"CHECK", options_.keys.front(), Number(token_)};
  // Without a lease a renewal of several keys is their check.
  if (options_.words.ttl_ms || options_.keys.size() > 1) {
    words = RequestOn("RENEW", options_.keys);
    words.insert(words.end(), {options_.owner, "TOKEN", Number(token_)});
    if (options_.words.ttl_ms) AddDuration(words, "PX", *options_.words.ttl_ms);
  }
  Send(Request::kConfirm, words, now, now + settings_.timeout_ms);
}

// Before the hold is confirmed, so that its end is either answered or heard.
void LockKeeper::Listen(TimeMs now) {
  is_listening_ = true;
  const std::string channel = "__lock@" + Number(settings_.database_or_first()) + "__:";
  for (const std::string& key : options_.keys) {
    Send(Request::kSubscribe, {"SUBSCRIBE", channel + key}, now, now + settings_.timeout_ms);
  }
}

void LockKeeper::AskToUnlock(TimeMs now) {
  std::vector<std::string> words = RequestOn("UNLOCK", options_.keys);
  words.push_back(options_.owner);
  if (token_ != 0) words.insert(words.end(), {"TOKEN", Number(token_)});
  Send(Request::kUnlock, words, now, now + settings_.timeout_ms);
}

// Answers

void LockKeeper::TakeReply(const protocol::Reply& reply, TimeMs now) {
  if (reply.type == protocol::ReplyType::kPush) return TakePush(reply, now);
  if (sent_.empty()) return;
  const Sent sent = sent_.front();
  sent_.pop_front();
  if (reply.IsError()) return TakeError(reply, sent.request, now);
  switch (sent.request) {
    case Request::kLock:
      return TakeLock(reply, now);
    case Request::kSubscribe:
      return;
    case Request::kConfirm:
      return TakeConfirmation(reply, sent, now);
    case Request::kRejoin:
      return TakeRejoined(reply, now);
    case Request::kUnlock:
      return TakeUnlocked(reply);
  }
}

// A push that confirms a subscription is the answer to its request.
void LockKeeper::TakePush(const protocol::Reply& push, TimeMs now) {
  const auto& parts = push.elements;
  if (parts.size() != 3) return;
  const bool is_answer = !sent_.empty() && sent_.front().request == Request::kSubscribe;
  if (is_answer && parts[0].text == "subscribe") return sent_.pop_front();
  if (parts[0].text != "message" || state_ != State::kHeld) return;
  const LockMessage message(parts[2].text);
  // It names only the new owner: whose hold it was the server must say.
  if (message.Text("event") == "transferred") return AskWhetherHeld(now);
  if (message.Number("token") != token_ || !message.EndsHold()) return;
  Lose("its hold was " + message.Text("event"));
}

void LockKeeper::TakeError(const protocol::Reply& reply, Request request, TimeMs now) {
  // Who may not listen has to ask.
  if (request == Request::kSubscribe) return;
  if (state_ == State::kReleasing) {
    if (request != Request::kUnlock) return;
    state_ = State::kReleased;
    reason_ = ServerFailure(reply.text, wire_.ServerName()).text;
  } else if (state_ == State::kAsking && !IsPassing(reply.text)) {
    Fail(ServerFailure(reply.text, wire_.ServerName()));
  } else if (request == Request::kRejoin) {
    wire_.Close();  // a rejoin is what is asked first on a connection
  } else {
    ask_at_ = now + kRetryMs;  // while the lease lasts
  }
}

void LockKeeper::TakeLock(const protocol::Reply& reply, TimeMs now) {
  const auto token = IntegerField(reply, "token");
  if (!token) {
    state_ = State::kDenied;
    const bool is_over = TextField(reply, "status") == "timeout";
    reason_ = is_over ? "its turn did not come in time" : TextField(reply, "reason");
    return;
  }
  token_ = *token;
  state_ = State::kConfirming;
  AskWhetherHeld(now);
}

void LockKeeper::TakeConfirmation(const protocol::Reply& reply, const Sent& sent, TimeMs now) {
  if (state_ == State::kReleasing) return;
  if (reply.integer == 0) {
    if (state_ == State::kHeld) {
      return Lose(wire_.ServerName() + " says that this token holds it no more");
    }
    token_ = 0;
    state_ = State::kAsking;
    return AskForLock(now);
  }
  state_ = State::kHeld;
  if (options_.words.ttl_ms) lease_until_ = sent.at + *options_.words.ttl_ms;
  const DurationMs third = options_.words.ttl_ms.value_or(kForever) / 3;
  ask_at_ = now + std::min(third, kAskEveryMs);
}

void LockKeeper::TakeRejoined(const protocol::Reply& reply, TimeMs now) {
  const auto token = IntegerField(reply, "token");
  if (token && *token == token_) return AskWhetherHeld(now);
  if (token) {
    // A new grant: others may have held it in between. It is given back, and nobody waits for that.
    std::vector<std::string> words = RequestOn("UNLOCK", options_.keys);
    words.insert(words.end(), {options_.owner, "TOKEN", Number(*token)});
    wire_.Send(std::vector<std::string_view>(words.begin(), words.end()));
  }
  Lose("the session ended while " + wire_.ServerName() + " was not connected");
}

void LockKeeper::TakeUnlocked(const protocol::Reply& reply) {
  const auto all = static_cast<std::int64_t>(options_.keys.size());
  if (token_ != 0 && reply.integer < all && !is_rest_) {
    return Lose(wire_.ServerName() + " says that it was not held any more at the end");
  }
  state_ = State::kReleased;
}

void LockKeeper::Lose(std::string reason) {
  state_ = State::kLost;
  reason_ = std::move(reason);
}

void LockKeeper::Fail(Failure failure) {
  state_ = State::kFailed;
  failure_ = std::move(failure);
}

}  // namespace fairlock::cli
