#include "storage/etcd/caller.h"

#include <algorithm>
#include <utility>

#include "storage/etcd/endpoint.h"

namespace fairlock::storage::etcd {
namespace {

using std::chrono::milliseconds;

// Turns kUnknown into kUnavailable: a read changes nothing, so it does not matter whether etcd
// executed it.
Outcome OutcomeOfRead(Outcome outcome) {
  return outcome == Outcome::kUnknown ? Outcome::kUnavailable : outcome;
}

}  // namespace

Caller::Caller(const EtcdOptions& options, const Credentials& credentials)
    : attempt_timeout_(options.attempt_timeout), session_(options) {
  for (const EtcdEndpoint& each : options.endpoints) {
    endpoints_.push_back(std::make_unique<Endpoint>(each, credentials, options));
  }
}

Answer Caller::Call(Kind kind, milliseconds timeout, const Attempt& attempt) {
  const Deadline deadline(timeout);
  Answer answer;
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    if (i > 0 && deadline.is_over()) break;
    auto tried =
        session_.Try(*endpoints_[current_], true, deadline.Remaining(attempt_timeout_), attempt);
    if (tried.verdict.next == NextStep::kNextEndpoint) Rotate();
    answer.outcome = tried.verdict.outcome;
    answer.message = std::move(tried.message);
    if (kind == Kind::kRead) answer.outcome = OutcomeOfRead(answer.outcome);
    if (answer.outcome != Outcome::kUnavailable) break;
  }
  return answer;
}

Answer Caller::CallOne(std::size_t endpoint, milliseconds timeout, const Attempt& attempt) {
  const milliseconds time = std::min(timeout, attempt_timeout_);
  auto tried = session_.Try(*endpoints_[endpoint], false, time, attempt);
  return {.outcome = OutcomeOfRead(tried.verdict.outcome), .message = std::move(tried.message)};
}

}  // namespace fairlock::storage::etcd
