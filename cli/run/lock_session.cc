#include "cli/run/lock_session.h"

#include <algorithm>

#include "cli/connection/reply_fields.h"
#include "cli/connection/server_errors.h"
#include "cli/output/duration.h"
#include "cli/views/claim_tables.h"
#include "cli/views/lock_views.h"

namespace fairlock::cli {

namespace {

// Maximum time between checks of the hold. A check detects a BREAK whose message did not arrive.
constexpr DurationMs kCheckEveryMs = 5000;
constexpr DurationMs kBackoffFirstMs = 20;
constexpr DurationMs kBackoffMaxMs = 1000;
// Delay before repeating a request after a transient error.
constexpr DurationMs kRetryMs = 250;
// A closed connection ends a session without grace, unless the server has only restarted. This is
// how long we try to find out whether it has.
constexpr DurationMs kProbeMs = 1000;
// How long a server keeps sessions after a restart, by default (`restart_grace`).
constexpr DurationMs kRestartGraceMs = 30'000;
// How many redirects in a row to follow while waiting for the lock.
constexpr int kRedirectsMax = 40;
// How long to wait for an unreachable server while waiting for the lock.
constexpr DurationMs kReconnectMs = 30'000;

std::string Number(std::int64_t number) { return std::to_string(number); }

}  // namespace

LockSession::LockSession(const RunOptions& options, const Settings& settings, Login login)
    : options_(options), settings_(settings), connection_(settings, std::move(login)) {}

void LockSession::Start(TimeMs now) {
  const DurationMs wait_ms = options_.words.wait_ms.value_or(kForever);
  wait_until_ = wait_ms >= kForever ? kForever : now + wait_ms;
  Reopen(now);
}

void LockSession::BeginRelease(TimeMs now) {
  if (IsOver()) return;
  const bool is_blocked_in_wait = state_ == State::kAsking;
  release_until_ = std::min(now + settings_.timeout_ms, HeldUntil());
  state_ = State::kReleasing;
  // A connection that waits executes no other request, so the release needs a new one.
  if (is_blocked_in_wait) return was_connected_ ? Reopen(now) : void(state_ = State::kReleased);
  if (connection_.state() != AsyncConnection::State::kClosed) return SendUnlock(now);
  reopen_at_ = now;  // the server may be back, and somebody may wait
}

void LockSession::BeginPartialRelease(TimeMs now) {
  if (state_ != State::kLost || options_.keys.size() == 1 || !connection_.is_ready()) return;
  is_partial_release_ = true;
  release_until_ = now + settings_.timeout_ms;
  state_ = State::kReleasing;
  reason_.clear();
  SendUnlock(now);
}

TimeMs LockSession::HeldUntil() const {
  if (!options_.is_session || unreachable_since_ == kForever) return lease_.until;
  const DurationMs grace = std::max(options_.grace_ms, was_refused_ ? kRestartGraceMs : kProbeMs);
  return std::min(lease_.until, unreachable_since_ + grace);
}

TimeMs LockSession::StopAt() const {
  const TimeMs until = HeldUntil();
  if (state_ != State::kHeld || until == kForever) return kForever;
  const TimeMs early = until - options_.kill_after_ms - options_.kill_margin_ms;
  // A session without a grace may have ended with its connection, so being early gains nothing.
  const bool is_early_enough = until == lease_.until || early > unreachable_since_;
  return std::min(lease_.leaving_since, is_early_enough ? early : until);
}

std::string LockSession::StopReason() const {
  if (IsLeaving()) return "an operator wants it back";
  return connection_.ServerName() +
         (unreachable_since_ == kForever ? " did not renew the lease" : " could not be reached") +
         ", and the hold ends soon";
}

TimeMs LockSession::GiveUpAt() const {
  switch (state_) {
    case State::kAsking:
      return unreachable_since_ == kForever ? kForever : unreachable_since_ + kReconnectMs;
    case State::kConfirming:
    case State::kHeld:
      return HeldUntil();
    default:
      return release_until_;
  }
}

TimeMs LockSession::AnswerDueAt() const {
  if (connection_.state() == AsyncConnection::State::kClosed || sent_.empty()) return kForever;
  return connection_.is_ready() ? sent_.front().due_at : opened_at_ + 2 * settings_.timeout_ms;
}

TimeMs LockSession::WakeAt() const {
  if (IsOver()) return kForever;
  return std::min({connection_.WakeAt(), reopen_at_, send_at_, GiveUpAt(), AnswerDueAt()});
}

void LockSession::Advance(TimeMs now) {
  connection_.Advance(now);
  while (!IsOver()) {
    const auto reply = connection_.Take();
    if (!reply) break;
    HandleReply(*reply, now);
  }
  if (IsOver()) return;
  if (connection_.is_ready()) OnReady();
  if (connection_.state() == AsyncConnection::State::kClosed && reopen_at_ == kForever) {
    OnDisconnect(connection_.end(), now);
  }
  RunTimers(now);
}

void LockSession::OnReady() {
  was_connected_ = true;
  // A session counts as unreachable until the server confirms that it still exists.
  const auto rejoin = std::ranges::find(sent_, Request::kRejoin, &Sent::request);
  if (rejoin != sent_.end()) {
    was_refused_ = was_refused_ || connection_.was_refused();
    return;
  }
  unreachable_since_ = kForever;
  was_refused_ = false;
  backoff_ms_ = 0;
}

void LockSession::OnDisconnect(const Failure& why, TimeMs now) {
  sent_.clear();
  send_at_ = kForever;
  failure_ = why;
  // A standby that was found may soon become the leader.
  const bool may_succeed = was_connected_ || connection_.servers().found_standby();
  may_own_ = may_own_ || was_connected_;
  if (!may_succeed && state_ == State::kAsking) return Fail(why);
  if (unreachable_since_ == kForever) unreachable_since_ = now;
  was_refused_ = was_refused_ || connection_.was_refused();
  backoff_ms_ = std::clamp(backoff_ms_ * 2, kBackoffFirstMs, kBackoffMaxMs);
  reopen_at_ = now + backoff_ms_;
}

void LockSession::Reopen(TimeMs now) {
  reopen_at_ = kForever;
  sent_.clear();
  is_listening_ = false;
  opened_at_ = now;
  connection_.Open(now);
  switch (state_) {
    case State::kAsking:
      return SendLock(now);
    case State::kConfirming:
    case State::kHeld:
      return options_.is_session ? SendRejoin(now) : SendCheck(now);
    case State::kReleasing:
      return SendUnlock(now);
    default:
      return;
  }
}

void LockSession::RunTimers(TimeMs now) {
  if (now >= GiveUpAt()) return GiveUp(now);
  if (now >= reopen_at_) Reopen(now);
  if (now >= AnswerDueAt()) {
    connection_.Close();
    OnDisconnect({kExitUnreachable, connection_.ServerName() + " did not answer within " +
                                        ShowDuration(settings_.timeout_ms)},
                 now);
  }
  if (now < send_at_) return;
  send_at_ = kForever;
  return state_ == State::kAsking ? SendLock(now) : SendCheck(now);
}

void LockSession::GiveUp(TimeMs now) {
  if (state_ == State::kAsking) return Fail(failure_);
  if (state_ == State::kReleasing) {
    state_ = State::kReleased;
    reason_ = connection_.ServerName() +
              " did not confirm the release; the lock becomes free when its lease ends";
    return;
  }
  if (IsLeaving()) return OnLost("its hold was broken");
  OnLost(connection_.ServerName() + " could not be reached before the " +
         (lease_.until <= now ? "lease" : "session's grace") + " ended");
}

// Requests

void LockSession::Send(Request request, const std::vector<std::string>& words, TimeMs now,
                       TimeMs due_at) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  sent_.push_back({request, now, due_at});
  connection_.Send(views);
}

std::vector<std::string> LockSession::LockRequestAt(TimeMs now) const {
  LockArguments words = options_.words;
  words.wait_ms = wait_until_ >= kForever ? kForever : std::max<DurationMs>(wait_until_ - now, 0);
  if (state_ != State::kAsking) words.wait_ms.reset();
  std::vector<std::string> request = LockRequest(options_.keys, options_.owner, words);
  if (options_.is_session) {
    request.emplace_back("SESSION");
    if (options_.grace_ms > 0) AddDuration(request, "GRACE", options_.grace_ms);
  }
  // NEW prevents us from mistaking another process's hold with the same owner for ours. After a
  // reconnection, the hold may be ours.
  if (options_.is_owner_given && state_ == State::kAsking && !may_own_) {
    request.emplace_back("NEW");
  }
  request.emplace_back("EXPLAIN");
  return request;
}

void LockSession::SendLock(TimeMs now) {
  const TimeMs until = std::max(wait_until_, now);
  Send(Request::kLock, LockRequestAt(now), now,
       until == kForever ? kForever : until + settings_.timeout_ms);
}

void LockSession::SendRejoin(TimeMs now) {
  Send(Request::kRejoin, LockRequestAt(now), now, now + settings_.timeout_ms);
}

void LockSession::SendCheck(TimeMs now) {
  if (!is_listening_) Listen(now);
  std::vector<std::string> words = {"CHECK", options_.keys.front(), Number(token_)};
  // Without a lease, renewing several keys only checks them. A hold that an operator has asked to
  // end is not renewed.
  const bool is_renewed = options_.words.ttl_ms || options_.keys.size() > 1;
  if (is_renewed && lease_.leaving_since == kForever) {
    words = RequestOn("RENEW", options_.keys);
    words.insert(words.end(), {options_.owner, "TOKEN", Number(token_)});
    if (options_.words.ttl_ms) AddDuration(words, "PX", *options_.words.ttl_ms);
  }
  Send(Request::kConfirm, words, now, now + settings_.timeout_ms);
}

// Subscribes before the hold is confirmed, so that its end is either in the reply or in a message.
void LockSession::Listen(TimeMs now) {
  is_listening_ = true;
  const std::string channel = "__lock@" + Number(settings_.database_or_first()) + "__:";
  for (const std::string& key : options_.keys) {
    Send(Request::kSubscribe, {"SUBSCRIBE", channel + key}, now, now + settings_.timeout_ms);
  }
}

void LockSession::SendUnlock(TimeMs now) {
  std::vector<std::string> words = RequestOn("UNLOCK", options_.keys);
  words.push_back(options_.owner);
  if (token_ != 0) words.insert(words.end(), {"TOKEN", Number(token_)});
  Send(Request::kUnlock, words, now, now + settings_.timeout_ms);
}

// Answers

void LockSession::HandleReply(const protocol::Reply& reply, TimeMs now) {
  if (reply.type == protocol::ReplyType::kPush) return HandlePush(reply, now);
  if (sent_.empty()) return;
  const Sent sent = sent_.front();
  sent_.pop_front();
  if (const auto leader = MovedTo(reply)) {
    return Follow(*leader, ServerFailure(reply.text, connection_.ServerName()), now);
  }
  redirects_ = 0;
  may_own_ = true;
  if (reply.IsError()) return HandleError(reply, sent.request, now);
  switch (sent.request) {
    case Request::kLock:
      return HandleLock(reply, now);
    case Request::kSubscribe:
      return;
    case Request::kConfirm:
      return HandleConfirmation(reply, sent, now);
    case Request::kRejoin:
      return HandleRejoined(reply, now);
    case Request::kUnlock:
      return HandleUnlocked(reply);
  }
}

// The reply to SUBSCRIBE arrives as a push message.
void LockSession::HandlePush(const protocol::Reply& push, TimeMs now) {
  const auto& parts = push.elements;
  if (parts.size() != 3) return;
  const bool is_answer = !sent_.empty() && sent_.front().request == Request::kSubscribe;
  if (is_answer && parts[0].text == "subscribe") return sent_.pop_front();
  if (parts[0].text != "message" || state_ != State::kHeld) return;
  const LockMessage message(parts[2].text);
  // The event names only the new owner, so the server must say whether this hold was transferred.
  if (message.Text("event") == "transferred") return SendCheck(now);
  if (message.Number("token") != token_) return;
  if (message.Text("event") == "leaving") {
    lease_.leaving_since = std::min(lease_.leaving_since, now);
    lease_.until = std::min(lease_.until, now + message.Number("grace_ms"));
  }
  if (!message.EndsHold()) return;
  OnLost("its hold was " + message.Text("event"));
}

// More than one redirect in a row shows that the leader is changing.
void LockSession::Follow(const ServerAddress& leader, Failure failure, TimeMs now) {
  failure_ = std::move(failure);
  connection_.Close();
  connection_.servers().Redirect(leader);
  send_at_ = kForever;
  if (++redirects_ == 1) return Reopen(now);
  if (state_ == State::kAsking && redirects_ > kRedirectsMax) return Fail(failure_);
  sent_.clear();
  reopen_at_ = now + kRetryMs;
}

// The server has lost its leadership, or etcd. Another one may lead; the search for it continues as
// long as the lease lasts.
void LockSession::TurnToNextServer(const protocol::Reply& refusal, TimeMs now) {
  const Failure failure = ServerFailure(refusal.text, connection_.ServerName());
  connection_.Close();
  connection_.servers().Skip();
  OnDisconnect(failure, now);
}

void LockSession::HandleError(const protocol::Reply& reply, Request request, TimeMs now) {
  if (connection_.servers().has_choice() && IsRefusalToServe(reply))
    return TurnToNextServer(reply, now);
  // Without the permission to subscribe, only the checks detect losses.
  if (request == Request::kSubscribe) return;
  if (state_ == State::kReleasing) {
    if (request != Request::kUnlock) return;
    state_ = State::kReleased;
    reason_ = ServerFailure(reply.text, connection_.ServerName()).text;
  } else if (state_ == State::kAsking && !IsTransient(reply.text)) {
    Fail(ServerFailure(reply.text, connection_.ServerName()));
  } else if (request == Request::kRejoin) {
    connection_.Close();  // the rejoin must be the first request on a connection
  } else {
    send_at_ = now + kRetryMs;  // retries as long as the lease lasts
  }
}

void LockSession::HandleLock(const protocol::Reply& reply, TimeMs now) {
  const auto token = IntegerField(reply, "token");
  if (!token) {
    state_ = State::kDenied;
    const bool is_over = TextField(reply, "status") == "timeout";
    reason_ = is_over ? "the wait timed out" : TextField(reply, "reason");
    failure_ = {options_.conflict_exit_code, FirstHolderText(reply, Screen())};
    return;
  }
  token_ = *token;
  state_ = State::kConfirming;
  SendCheck(now);
}

void LockSession::HandleConfirmation(const protocol::Reply& reply, const Sent& sent, TimeMs now) {
  if (state_ == State::kReleasing) return;
  // A hold that an operator has asked to end is not renewed, but still held.
  if (IsLeaving() && (reply.integer != 0 || sent.at <= lease_.leaving_since)) {
    send_at_ = now + kCheckEveryMs;
    return;
  }
  if (reply.integer == 0) {
    if (state_ == State::kHeld) {
      return OnLost(connection_.ServerName() + " says that this token no longer holds it");
    }
    token_ = 0;
    state_ = State::kAsking;
    return SendLock(now);
  }
  state_ = State::kHeld;
  send_at_ = now + kCheckEveryMs;
  if (!options_.words.ttl_ms) return;
  lease_.until = sent.at + *options_.words.ttl_ms;
  const DurationMs spare_ms =
      *options_.words.ttl_ms - options_.kill_after_ms - options_.kill_margin_ms;
  send_at_ = std::min(send_at_, now + spare_ms / 3);
}

void LockSession::HandleRejoined(const protocol::Reply& reply, TimeMs now) {
  const auto token = IntegerField(reply, "token");
  if (token && *token == token_) return SendCheck(now);
  if (token) {
    // This is a new grant: another owner may have held the lock in between. Releases the grant
    // without waiting for the reply.
    std::vector<std::string> words = RequestOn("UNLOCK", options_.keys);
    words.insert(words.end(), {options_.owner, "TOKEN", Number(*token)});
    connection_.Send(std::vector<std::string_view>(words.begin(), words.end()));
  }
  OnLost("the session ended while the connection to " + connection_.ServerName() + " was lost");
}

void LockSession::HandleUnlocked(const protocol::Reply& reply) {
  const auto all = static_cast<std::int64_t>(options_.keys.size());
  if (token_ != 0 && reply.integer < all && !is_partial_release_) {
    return OnLost(connection_.ServerName() + " says that it was no longer held at the end");
  }
  state_ = State::kReleased;
}

void LockSession::OnLost(std::string reason) {
  state_ = State::kLost;
  reason_ = std::move(reason);
}

void LockSession::Fail(Failure failure) {
  state_ = State::kFailed;
  failure_ = std::move(failure);
}

}  // namespace fairlock::cli
