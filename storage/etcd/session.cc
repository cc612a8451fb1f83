#include "storage/etcd/session.h"

namespace fairlock::storage::etcd {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kLoginIsOff = "etcdserver: authentication is not enabled";
constexpr Verdict kDone{Outcome::kDone, NextStep::kNothing};

}  // namespace

std::string MessageOf(const Endpoint& endpoint, std::string_view text) {
  return "etcd at " + endpoint.address() + ": " + std::string(text);
}

Session::Session(const EtcdOptions& options)
    : user_(options.user), password_(options.password), is_login_needed_(!options.user.empty()) {}

Session::Tried Session::Try(Endpoint& endpoint, bool needs_leader, milliseconds time,
                            const Attempt& attempt) {
  const bool is_fresh = is_login_needed_;
  for (bool is_repeated = false;; is_repeated = true) {
    if (is_login_needed_) {
      Tried login = LogIn(endpoint, time);
      if (login.verdict != kDone) return login;
    }
    Tried tried = TryOnce(endpoint, needs_leader, time, attempt);
    if (tried.verdict.next != NextStep::kAuthenticate) return tried;
    ForgetToken();
    if (!is_login_needed_ || is_fresh || is_repeated) return tried;
  }
}

Session::Tried Session::Prepare(Endpoint& endpoint, milliseconds time,
                                grpc::ClientContext& context) {
  if (is_login_needed_) {
    Tried login = LogIn(endpoint, time);
    if (login.verdict != kDone) return login;
  }
  Tried tried = TryOnce(endpoint, true, time, [](Endpoint&, grpc::ClientContext&) {
    return grpc::Status::OK;  // there is nothing to send: only the connection is needed
  });
  Complete(context, true);
  return tried;
}

// If the login fails, the request itself is not sent, so the outcome is never kUnknown.
Session::Tried Session::LogIn(Endpoint& endpoint, milliseconds time) {
  etcdserverpb::AuthenticateRequest request;
  request.set_name(user_);
  request.set_password(password_);
  etcdserverpb::AuthenticateResponse response;
  std::string text;
  token_.clear();
  Tried tried = TryOnce(endpoint, false, time, [&](Endpoint& at, grpc::ClientContext& context) {
    grpc::Status status = at.auth().Authenticate(&context, request, &response);
    text = status.error_message();
    return status;
  });
  if (text == kLoginIsOff) tried = {kDone, ""};
  if (tried.verdict.outcome == Outcome::kUnknown) tried.verdict.outcome = Outcome::kUnavailable;
  if (tried.verdict == kDone) {
    token_ = response.token();
    is_login_needed_ = false;
  }
  return tried;
}

Session::Tried Session::TryOnce(Endpoint& endpoint, bool needs_leader, milliseconds time,
                                const Attempt& attempt) {
  if (!endpoint.Connect(time)) {
    return {{Outcome::kUnavailable, NextStep::kNextEndpoint},
            MessageOf(endpoint, "could not connect in time")};
  }
  grpc::ClientContext context;
  context.set_deadline(FromNow(time));
  Complete(context, needs_leader);
  const grpc::Status status = attempt(endpoint, context);
  if (status.ok()) return {kDone, ""};
  return {JudgeError(status.error_code(), status.error_message()),
          MessageOf(endpoint, status.error_message())};
}

void Session::Complete(grpc::ClientContext& context, bool needs_leader) const {
  if (needs_leader) context.AddMetadata("hasleader", "true");
  if (!token_.empty()) context.AddMetadata("token", token_);
}

}  // namespace fairlock::storage::etcd
