#include "storage/etcd/caller.h"

#include <algorithm>
#include <utility>

namespace fairlock::storage::etcd {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kLoginIsOff = "etcdserver: authentication is not enabled";

std::string MessageOf(const Endpoint& endpoint, std::string_view text) {
  return "etcd at " + endpoint.address() + ": " + std::string(text);
}

}  // namespace

Caller::Caller(const EtcdOptions& options, const Credentials& credentials)
    : attempt_timeout_(options.attempt_timeout),
      user_(options.user),
      password_(options.password),
      is_login_needed_(!options.user.empty()) {
  for (const EtcdEndpoint& each : options.endpoints) {
    endpoints_.push_back(std::make_unique<Endpoint>(each, credentials, options.attempt_timeout));
  }
}

void Caller::Rotate() { current_ = (current_ + 1) % endpoints_.size(); }

Answer Caller::Call(Kind kind, milliseconds timeout, const Attempt& attempt) {
  const Deadline deadline(timeout);
  Tried tried;
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    if (i > 0 && deadline.is_over()) break;
    tried = TryLoggedIn(*endpoints_[current_], true, deadline, attempt);
    if (tried.verdict.next == NextStep::kNextEndpoint) Rotate();
    Outcome& outcome = tried.verdict.outcome;
    if (kind == Kind::kRead && outcome == Outcome::kUnknown) outcome = Outcome::kUnavailable;
    if (outcome != Outcome::kUnavailable) break;
  }
  return {.outcome = tried.verdict.outcome, .message = std::move(tried.message)};
}

Answer Caller::CallOne(std::size_t endpoint, milliseconds timeout, const Attempt& attempt) {
  Tried tried = TryLoggedIn(*endpoints_[endpoint], false, Deadline(timeout), attempt);
  Outcome& outcome = tried.verdict.outcome;
  if (outcome == Outcome::kUnknown) outcome = Outcome::kUnavailable;
  return {.outcome = outcome, .message = std::move(tried.message)};
}

// Logs in at most once more, when etcd does not know the token.
Caller::Tried Caller::TryLoggedIn(Endpoint& endpoint, bool needs_leader, const Deadline& deadline,
                                  const Attempt& attempt) {
  const bool was_login_needed = is_login_needed_;
  for (bool is_repeated = false;; is_repeated = true) {
    if (is_login_needed_) {
      Tried login = LogIn(endpoint, deadline);
      if (login.verdict.outcome != Outcome::kDone) return login;
    }
    Tried tried = Try(endpoint, needs_leader, deadline, attempt);
    const bool was_logged_out = tried.verdict.next == NextStep::kAuthenticate && !user_.empty();
    if (!was_logged_out) return tried;
    is_login_needed_ = true;
    if (is_repeated || was_login_needed) return tried;
  }
}

// A failed login sends nothing of the call itself, so its outcome is never kUnknown.
Caller::Tried Caller::LogIn(Endpoint& endpoint, const Deadline& deadline) {
  etcdserverpb::AuthenticateRequest request;
  request.set_name(user_);
  request.set_password(password_);
  etcdserverpb::AuthenticateResponse response;
  std::string text;
  token_.clear();
  Tried tried = Try(endpoint, false, deadline, [&](Endpoint& at, grpc::ClientContext& context) {
    grpc::Status status = at.auth().Authenticate(&context, request, &response);
    text = status.error_message();
    return status;
  });
  if (text == kLoginIsOff) tried = {{Outcome::kDone, NextStep::kNothing}, ""};
  if (tried.verdict.outcome == Outcome::kUnknown) tried.verdict.outcome = Outcome::kUnavailable;
  if (tried.verdict.outcome == Outcome::kDone) {
    token_ = response.token();
    is_login_needed_ = false;
  }
  return tried;
}

Caller::Tried Caller::Try(Endpoint& endpoint, bool needs_leader, const Deadline& deadline,
                          const Attempt& attempt) {
  if (!endpoint.Connect(deadline.Remaining(attempt_timeout_))) {
    return {{Outcome::kUnavailable, NextStep::kNextEndpoint},
            MessageOf(endpoint, "no connection in time")};
  }
  grpc::ClientContext context;
  context.set_deadline(FromNow(deadline.Remaining(attempt_timeout_)));
  if (needs_leader) context.AddMetadata("hasleader", "true");
  if (!token_.empty()) context.AddMetadata("token", token_);
  const grpc::Status status = attempt(endpoint, context);
  if (status.ok()) return {{Outcome::kDone, NextStep::kNothing}, ""};
  return {JudgeError(status.error_code(), status.error_message()),
          MessageOf(endpoint, status.error_message())};
}

}  // namespace fairlock::storage::etcd
