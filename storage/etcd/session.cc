#include "storage/etcd/session.h"

#include <algorithm>
#include <utility>

namespace fairlock::storage::etcd {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kLoginIsOff = "etcdserver: authentication is not enabled";
constexpr milliseconds kLoginPauseMin{100};
constexpr milliseconds kLoginPauseMax{2'000};
constexpr Verdict kDone{Outcome::kDone, NextStep::kNothing};
constexpr Verdict kNotThisOne{Outcome::kUnavailable, NextStep::kNextEndpoint};

void NoteFailure(const std::string& password, const std::string& message, FailedLogin& failed) {
  failed.pause = std::clamp(2 * failed.pause, kLoginPauseMin, kLoginPauseMax);
  failed.until = Deadline(failed.pause);
  failed.password = password;
  failed.message = message;
}

}  // namespace

std::string MessageOf(const Endpoint& endpoint, std::string_view text) {
  return "etcd at " + endpoint.address() + ": " + std::string(text);
}

Session::Session(const EtcdOptions& options)
    : pin_(options.pin),
      endpoints_(options.endpoints.size()),
      user_(options.user),
      password_file_(options.password_file),
      password_(options.password),
      is_login_needed_(!options.user.empty()) {}

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
  if (tried.verdict.next == NextStep::kAuthenticate) ForgetToken();
  Complete(context, true);
  return tried;
}

// If the login fails, the request itself is not sent, so the outcome is never kUnknown.
Session::Tried Session::LogIn(Endpoint& endpoint, milliseconds time) {
  if (!password_file_.empty()) {
    if (auto password = ReadPasswordFile(password_file_); password.ok()) {
      password_ = std::move(password.value());
    }
  }
  FailedLogin& failed = endpoint.failed_login();
  const bool is_same = failed.pause.count() != 0 && failed.password == password_;
  if (is_same && !failed.until.is_over()) return {kNotThisOne, failed.message};
  etcdserverpb::AuthenticateRequest request;
  request.set_name(user_);
  request.set_password(password_);
  etcdserverpb::AuthenticateResponse response;
  std::string text;
  token_.clear();
  Tried tried = Connect(endpoint, time);
  if (tried.verdict != kDone) return tried;
  tried = Send(endpoint, false, time, [&](Endpoint& at, grpc::ClientContext& context) {
    grpc::Status status = at.auth().Authenticate(&context, request, &response);
    text = status.error_message();
    return status;
  });
  if (tried.verdict == kDone && pin_ != nullptr && !endpoint.is_known()) {
    tried = Admit(endpoint, response.header().cluster_id());
  }
  if (text == kLoginIsOff) tried = {kDone, ""};
  if (tried.verdict == kDone) failed = {};
  if (tried.verdict != kDone) NoteFailure(password_, tried.message, failed);
  if (tried.verdict.outcome == Outcome::kUnknown) tried.verdict.outcome = Outcome::kUnavailable;
  if (tried.verdict == kDone) {
    token_ = response.token();
    is_login_needed_ = false;
  }
  return tried;
}

Session::Tried Session::TryOnce(Endpoint& endpoint, bool needs_leader, milliseconds time,
                                const Attempt& attempt) {
  Tried tried = Connect(endpoint, time);
  if (tried.verdict == kDone && pin_ != nullptr && !endpoint.is_known()) {
    tried = Identify(endpoint, time);
  }
  return tried.verdict == kDone ? Send(endpoint, needs_leader, time, attempt) : tried;
}

Session::Tried Session::Connect(Endpoint& endpoint, milliseconds time) {
  if (endpoint.Connect(time)) return {kDone, ""};
  return {kNotThisOne, MessageOf(endpoint, "could not connect in time")};
}

Session::Tried Session::Send(Endpoint& endpoint, bool needs_leader, milliseconds time,
                             const Attempt& attempt) const {
  grpc::ClientContext context;
  context.set_deadline(FromNow(time));
  Complete(context, needs_leader);
  const grpc::Status status = attempt(endpoint, context);
  if (status.ok()) return {kDone, ""};
  return {JudgeError(status.error_code(), status.error_message()),
          MessageOf(endpoint, status.error_message())};
}

// A member answers this request even if it knows no leader. Since etcd 3.7, it requires a login
// where others do.
Session::Tried Session::Identify(Endpoint& endpoint, milliseconds time) {
  const etcdserverpb::StatusRequest request;
  etcdserverpb::StatusResponse response;
  Tried tried = Send(endpoint, false, time, [&](Endpoint& at, grpc::ClientContext& context) {
    return at.maintenance().Status(&context, request, &response);
  });
  if (tried.verdict == kDone) return Admit(endpoint, response.header().cluster_id());
  // The request itself was not sent.
  if (tried.verdict.next != NextStep::kAuthenticate) tried.verdict = kNotThisOne;
  return tried;
}

Session::Tried Session::Admit(Endpoint& endpoint, std::uint64_t cluster_id) {
  const std::string refusal = pin_->Admit(endpoint.address(), endpoints_, cluster_id);
  if (!refusal.empty()) return {kNotThisOne, MessageOf(endpoint, refusal)};
  endpoint.set_known();
  return {kDone, ""};
}

void Session::Complete(grpc::ClientContext& context, bool needs_leader) const {
  if (needs_leader) context.AddMetadata("hasleader", "true");
  if (!token_.empty()) context.AddMetadata("token", token_);
}

}  // namespace fairlock::storage::etcd
