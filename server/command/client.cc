#include "server/command/client.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "server/command/dispatcher.h"
#include "server/command/lock_replies.h"
#include "server/command/log_ins.h"
#include "server/command/text.h"

namespace fairlock::command {

using protocol::ErrorCode;
using protocol::ParseStatus;

namespace {

// With more output than this the next request waits until others had their turn.
constexpr std::size_t kOutputBytesAtOnce = 16 * 1024;
// The same with more matching of globs, in compared bytes.
constexpr std::uint64_t kMatchingAtOnce = kOutputBytesAtOnce * MatchingMeter::kWorkPerByte;

}  // namespace

Client::Client(Dispatcher& dispatcher, Transport& transport, ClientAddress address,
               engine::TimeMs now)
    : dispatcher_(dispatcher), transport_(transport) {
  profile_.address = std::move(address);
  profile_.connected_at = now;
  profile_.active_at = now;
  profile_.id = dispatcher_.Register(*this);
  LogOut();
}

Client::~Client() { assert(is_detached_); }

std::size_t Client::Consume(std::string_view input, std::size_t requests_max, engine::TimeMs now) {
  RequestWindow& window = dispatcher_.window();
  profile_.active_at = now;
  dispatcher_.LookAtMemory(now);
  std::size_t consumed = 0;
  std::size_t requests = 0;
  bool is_used_up = false;
  bool is_much = false;
  bool is_cut_short = false;  // by that
  const std::uint64_t matched_max = dispatcher_.matching().total() + kMatchingAtOnce;
  while (!is_waiting() && !is_closing_ && !is_used_up && !is_much && requests < requests_max) {
    ReadAhead(input.substr(consumed), requests_max - requests, window);
    const std::size_t executed = ExecuteAhead(window, matched_max, now);
    requests += executed;
    is_much = HasDoneMuch(matched_max);
    is_used_up = window.last.status != ParseStatus::kRequest;
    const bool is_stopped = is_waiting() || is_closing_;
    if (executed < window.count || (is_stopped && window.last.status == ParseStatus::kError)) {
      // What was read ahead is given again when the connection goes on.
      parser_.Restart();
      consumed += window.requests[executed - 1].end;
      is_cut_short = is_much;
      break;
    }
    consumed += window.end;
    is_cut_short = is_much && !is_used_up;
    if (window.last.status == ParseStatus::kError) RefuseInput(window.last.error);
  }
  profile_.commands_processed += requests;
  has_more_ = consumed < input.size() && (is_waiting() || is_cut_short || requests == requests_max);
  return consumed;
}

void Client::ReadAhead(std::string_view input, std::size_t requests_max, RequestWindow& window) {
  // What stands behind a log-in is read by the limits that go with it.
  const bool is_nobody = user_ == nullptr;
  const protocol::RequestLimits& limits = is_nobody ? protocol::kBeforeAuth : dispatcher_.limits();
  const std::size_t count_max = is_nobody ? 1 : std::min(requests_max, RequestWindow::kSize);
  window.count = 0;
  window.end = 0;
  do {
    RequestAhead& request = window.requests[window.count];
    const protocol::ParseResult result =
        parser_.Parse(input.substr(window.end), limits, request.arguments);
    window.end += result.consumed;
    if (result.status != ParseStatus::kRequest) {
      window.last = result;
      return;
    }
    request.end = window.end;
    dispatcher_.Prepare(*this, request);
  } while (++window.count < count_max);
  window.last.status = ParseStatus::kRequest;
}

bool Client::HasDoneMuch(std::uint64_t matched_max) const {
  return output_.size() > kOutputBytesAtOnce || dispatcher_.matching().total() > matched_max;
}

std::size_t Client::ExecuteAhead(const RequestWindow& window, std::uint64_t matched_max,
                                 engine::TimeMs now) {
  for (std::size_t i = 0; i < window.count; ++i) dispatcher_.PrefetchLock(window.requests[i]);
  std::size_t executed = 0;
  while (executed < window.count && !is_waiting() && !is_closing_) {
    dispatcher_.Execute(*this, window.requests[executed], now);
    ++executed;
    if (HasDoneMuch(matched_max)) break;
  }
  dispatcher_.statistics().TurnTo(CommandTable::kNone);
  return executed;
}

void Client::RefuseInput(const protocol::WireError& error) {
  ++dispatcher_.counters().protocol_errors;
  dispatcher_.statistics().CountError(error.code);
  writer().Error(error);
  CloseAfterOutput();
}

void Client::EndWith(ErrorCode code, std::string_view text) {
  dispatcher_.statistics().CountError(code);
  writer().Error(code, text);
  CloseAfterOutput();
  transport_.NoticeOutput();
}

void Client::Detach(engine::TimeMs now) {
  if (std::exchange(is_detached_, true)) return;
  EndWait();
  dispatcher_.channels().UnsubscribeFromAll(*this);
  // Before anything is undone: who waits on a channel of which this was the last subscriber must
  // not be granted anew.
  dispatcher_.notifier().FollowSubscribers(now);
  dispatcher_.monitors().Remove(*this);
  dispatcher_.newcomers().Remove(*this);
  DropTransaction();
  UndoUnsentGrants(now);
  dispatcher_.Unregister(*this, now);
}

void Client::NoteGrant(std::uint64_t key_hash, engine::Token token) {
  if (!dispatcher_.is_in_step()) AddUnsent({taken_bytes_ + output_.size(), key_hash, token});
}

void Client::NoteAwaitedGrant(std::uint64_t key_hash, engine::Token token) {
  AddUnsent({taken_bytes_ + output_.size(), key_hash, token, true});
}

void Client::NoteDelivery(const DeliveredGrant& grant, bool is_written, bool is_shared) {
  constexpr std::uint64_t kNeverSent = ~std::uint64_t{0};
  const std::uint64_t end = is_written ? taken_bytes_ + output_.size() : kNeverSent;
  AddUnsent({end, grant.key_hash, grant.token, true, is_shared});
}

void Client::AddUnsent(const UnsentGrant& grant) {
  if (grants_.empty()) dispatcher_.unsent_grants().push_back(*this);
  grants_.push_back(grant);
}

bool Client::HasUnsentGrant(engine::Token token) const {
  return std::any_of(grants_.begin(), grants_.end(),
                     [&](const UnsentGrant& grant) { return grant.token == token; });
}

bool Client::HasUnsentAwaitedGrant() const {
  return std::ranges::any_of(grants_, &UnsentGrant::is_awaited);
}

bool Client::ForgetGrant(engine::Token token) {
  const auto erased =
      std::erase_if(grants_, [&](const UnsentGrant& grant) { return grant.token == token; });
  if (grants_.empty()) ForgetAllGrants();
  return erased > 0;
}

void Client::NoticeSent(std::size_t bytes) {
  sent_bytes_ += bytes;
  if (grants_.empty()) return;
  ConfirmShared();
  if (grants_.back().reply_end <= sent_bytes_) {
    ForgetAllGrants();
    return;
  }
  std::erase_if(grants_, [&](const UnsentGrant& grant) { return grant.reply_end <= sent_bytes_; });
}

// One of several who are told is enough.
void Client::ConfirmShared() {
  for (const UnsentGrant& grant : grants_) {
    if (grant.is_shared && grant.reply_end <= sent_bytes_) {
      dispatcher_.ForgetGrantElsewhere(grant.token, *this);
    }
  }
}

void Client::ForgetAllGrants() {
  // What one turn of a long pipeline needed is not kept for an idle connection.
  constexpr std::size_t kCapacityKept = 16;
  if (grants_.capacity() > kCapacityKept) {
    grants_ = {};
  } else {
    grants_.clear();
  }
  if (UnsentGrantsHook::is_linked()) UnsentGrantsHook::unlink();
}

void Client::UndoUnsentGrants(engine::TimeMs now) {
  for (std::size_t i = 0; i < grants_.size(); ++i) {
    const UnsentGrant grant = grants_[i];
    if (grant.is_shared && dispatcher_.IsOnItsWayElsewhere(grant.token, *this)) continue;
    dispatcher_.engine().UndoGrant(grant.key_hash, grant.token, now, dispatcher_.effects());
    dispatcher_.DeliverEffects(now);
  }
  ForgetAllGrants();
}

void Client::WaitFor(WaitKind kind) {
  assert(!is_waiting());
  wait_kind_ = kind;
  ++dispatcher_.gauges().waiting_clients;
}

void Client::EndWait() {
  if (is_waiting()) --dispatcher_.gauges().waiting_clients;
  wait_kind_ = WaitKind::kNothing;
}

void Client::ExplainLater(const ExplainedRequest& request) {
  explained_ = std::make_unique<RequestToExplain>(
      RequestToExplain{request.key.db, std::string(request.key.bytes), std::string(request.owner),
                       request.names_key});
}

void Client::Resolve(const engine::Resolution& resolution, engine::TimeMs now) {
  if (is_detached_) {
    // What was undone for this client may have been granted to another owner that it waited for.
    if (resolution.kind == engine::ResolutionKind::kGranted) {
      NoteAwaitedGrant(resolution.key_hash, resolution.token);
    }
    return;
  }
  assert(is_waiting());
  EndWait();
  protocol::ReplyWriter reply = writer();
  const bool is_timed_out = resolution.kind == engine::ResolutionKind::kTimedOut ||
                            resolution.kind == engine::ResolutionKind::kWatchTimedOut;
  const bool is_cancelled = resolution.kind == engine::ResolutionKind::kCancelled;
  const auto denial = std::exchange(denial_, nullptr);
  if (denial != nullptr && (is_cancelled || is_timed_out)) {
    ++dispatcher_.counters().denied_requests;
    reply.Error(ErrorCode::kNoPerm, *denial);
  } else if (std::exchange(fails_at_time_out_, false) && is_timed_out) {
    reply.Error(ErrorCode::kUnblocked, "client unblocked via CLIENT UNBLOCK");
  } else if (resolution.kind == engine::ResolutionKind::kWatchTimedOut) {
    reply.Integer(0);
  } else if (resolution.kind == engine::ResolutionKind::kWatchEnded) {
    reply.Integer(1);
  } else {
    AnswerWaitingLock(resolution, reply, now);
  }
  CountAwaitedError(reply);
  explained_.reset();
  NoteNews(kReadOnly);
  transport_.NoticeOutput();
}

void Client::AnswerBackup(const std::string& error, const std::string& path) {
  if (is_detached_ || wait_kind_ != WaitKind::kBackup) return;
  EndWait();
  protocol::ReplyWriter reply = writer();
  if (!error.empty()) {
    reply.Error(ErrorCode::kErr, error);
  } else if (path.empty()) {
    reply.Ok();
  } else {
    reply.Bulk(path);
  }
  CountAwaitedError(reply);
  transport_.NoticeOutput();
}

void Client::CountAwaitedError(const protocol::ReplyWriter& reply) {
  if (!reply.error()) return;
  // The last command is the one that waited: nothing is executed until it is answered.
  assert(profile_.last_command != nullptr);
  dispatcher_.statistics().CountFailed(dispatcher_.commands().IndexOf(profile_.last_command->name),
                                       *reply.error());
}

void Client::DenyWait(std::string denial) {
  denial_ = std::make_unique<std::string>(std::move(denial));
}

void Client::LogIn(const access::User& user) {
  user_ = &user;
  dispatcher_.newcomers().Remove(*this);
  is_limited_ = !user.IsUnlimited();
  profile_.user = user.name;
  dispatcher_.engine().clients().SetUser(client, user.name);
}

void Client::LogOut() {
  if (const access::User* newcomer = dispatcher_.access().NewcomersUser()) return LogIn(*newcomer);
  user_ = nullptr;
  is_limited_ = true;
  profile_.user = access::kDefaultUser;
  dispatcher_.newcomers().Add(*this, profile_.active_at);
  dispatcher_.engine().clients().SetUser(client, profile_.user);
}

void Client::Expel() {
  user_ = nullptr;
  is_limited_ = true;
  transport_.CloseNow();
}

void Client::WaitForLogIn(PendingLogIn log_in) {
  log_in_ = std::make_unique<PendingLogIn>(std::move(log_in));
  WaitFor(WaitKind::kLogIn);
}

std::unique_ptr<PendingLogIn> Client::EndLogIn() {
  if (is_detached_ || wait_kind_ != WaitKind::kLogIn) return nullptr;
  EndWait();
  return std::move(log_in_);
}

void Client::AnswerWaitingLock(const engine::Resolution& resolution, protocol::ReplyWriter& reply,
                               engine::TimeMs now) {
  if (resolution.kind == engine::ResolutionKind::kSuperseded) {
    reply.Error(ErrorCode::kSuperseded, "a later LOCK of the same owner took over this place");
    return;
  }
  if (resolution.kind == engine::ResolutionKind::kCancelled) {
    reply.Error(ErrorCode::kCancelled, "CANCEL or UNLOCK gave up this place");
    return;
  }
  if (resolution.kind == engine::ResolutionKind::kReplaced) {
    reply.Error(ErrorCode::kCancelled, "replaced by " + Quoted(resolution.by));
    return;
  }
  const bool is_granted = resolution.kind == engine::ResolutionKind::kGranted;
  if (explained_ != nullptr) {
    WriteExplanation(
        reply, dispatcher_,
        {{explained_->db, explained_->key}, explained_->owner, explained_->names_key},
        {is_granted ? "granted" : "timeout", engine::DenialReason::kNone, resolution.token}, now);
  } else if (is_granted) {
    reply.Integer(static_cast<std::int64_t>(resolution.token));
  } else {
    reply.Null();
  }
  if (is_granted) NoteAwaitedGrant(resolution.key_hash, resolution.token);
}

bool Client::Push(std::string_view bytes) {
  if (is_closing_ || !transport_.AdmitOutput(bytes.size())) return false;
  output_.append(bytes);
  NoteNews(kReadOnly);
  transport_.NoticeOutput();
  return true;
}

Subscriptions& Client::NeedSubscriptions() {
  if (subscriptions_ == nullptr) subscriptions_ = std::make_unique<Subscriptions>();
  return *subscriptions_;
}

void Client::DropEmptySubscriptions() {
  if (subscriptions_->size() == 0) subscriptions_.reset();
}

std::unique_ptr<Subscriptions> Client::TakeSubscriptions() { return std::move(subscriptions_); }

Transaction& Client::NeedTransaction() {
  if (transaction_ == nullptr) transaction_ = std::make_unique<Transaction>();
  return *transaction_;
}

void Client::EndWatches() {
  if (transaction_ == nullptr) return;
  for (const auto& watch : transaction_->watches()) dispatcher_.watched_keys().End(watch);
  transaction_->watches().clear();
  if (!transaction_->is_open()) transaction_.reset();
}

void Client::DropTransaction() {
  EndWatches();
  transaction_.reset();
}

void Client::Reset(engine::TimeMs now) {
  DropTransaction();
  dispatcher_.channels().UnsubscribeFromAll(*this);
  // Holds with SESSION end as with the connection.
  dispatcher_.engine().Detach(*this, now, dispatcher_.effects());
  dispatcher_.monitors().Remove(*this);
  version_ = protocol::RespVersion::kResp2;
  database_ = 0;
  SetName("");
  if (user_ != &dispatcher_.access().own_user()) LogOut();
}

void Client::SetName(std::string_view name) {
  profile_.name = name;
  dispatcher_.engine().clients().Rename(client, name);
}

}  // namespace fairlock::command
