#include "storage/etcd/outcome.h"

#include <grpcpp/support/status_code_enum.h>

namespace fairlock::storage::etcd {
namespace {

struct Row {
  grpc::StatusCode code;
  std::string_view text;  // the beginning of the message
  Verdict verdict;
};

constexpr Verdict kMayBeExecuted{Outcome::kUnknown, NextStep::kNextEndpoint};
constexpr Verdict kNotHere{Outcome::kUnavailable, NextStep::kNextEndpoint};
constexpr Verdict kPermanent{Outcome::kFailed, NextStep::kNothing};
constexpr Verdict kLogIn{Outcome::kUnavailable, NextStep::kAuthenticate};

// The first row that matches decides. If etcd reports an error before it proposes a request, or
// applies the request without effect, the request certainly had no effect. After any other error,
// it may have been committed.
constexpr Row kRows[] = {
    // Reported while the proposal is pending, so it may be committed later.
    {grpc::UNAVAILABLE, "etcdserver: request timed out", kMayBeExecuted},
    {grpc::UNAVAILABLE, "etcdserver: leader changed", kMayBeExecuted},
    {grpc::UNAVAILABLE, "etcdserver: server stopped", kMayBeExecuted},

    // Reported before the request is proposed.
    {grpc::UNAVAILABLE, "etcdserver: no leader", kNotHere},
    {grpc::UNAVAILABLE, "etcdserver: not capable", kNotHere},
    {grpc::UNAVAILABLE, "etcdserver: rpc not supported for learner", kNotHere},
    {grpc::FAILED_PRECONDITION, "etcdserver: rpc not supported for learner", kNotHere},
    {grpc::RESOURCE_EXHAUSTED, "etcdserver: too many requests", kNotHere},
    {grpc::UNKNOWN, "raft proposal dropped", kNotHere},

    // There was no connection, so nothing was sent.
    {grpc::UNAVAILABLE, "failed to connect to all addresses", kNotHere},
    {grpc::UNAVAILABLE, "DNS resolution failed", kNotHere},

    {grpc::OUT_OF_RANGE,
     "etcdserver: mvcc: required revision has been compacted",
     {Outcome::kCompacted, NextStep::kNothing}},
    {grpc::RESOURCE_EXHAUSTED,
     "etcdserver: mvcc: database space exceeded",
     {Outcome::kNoSpace, NextStep::kNothing}},
    {grpc::NOT_FOUND,
     "etcdserver: requested lease not found",
     {Outcome::kNoLease, NextStep::kNothing}},

    {grpc::UNAUTHENTICATED, "etcdserver: invalid auth token", kLogIn},
    {grpc::INVALID_ARGUMENT, "etcdserver: revision of auth store is old", kLogIn},
    {grpc::UNKNOWN, "auth: revision in header is old", kLogIn},
    {grpc::INVALID_ARGUMENT, "etcdserver: user name is empty", kLogIn},
    {grpc::INVALID_ARGUMENT, "etcdserver: authentication failed", kNotHere},

    // Limits of gRPC. A request above the limit was never executed, but a response above it comes
    // after the execution.
    {grpc::RESOURCE_EXHAUSTED, "Sent message larger than max", kPermanent},
    {grpc::RESOURCE_EXHAUSTED, "grpc: received message larger than max", kPermanent},

    // All other errors of etcd with these codes mean that the request itself is not acceptable.
    {grpc::PERMISSION_DENIED, "etcdserver: ", kPermanent},
    {grpc::INVALID_ARGUMENT, "etcdserver: ", kPermanent},
    {grpc::FAILED_PRECONDITION, "etcdserver: ", kPermanent},
    {grpc::OUT_OF_RANGE, "etcdserver: ", kPermanent},
    {grpc::DATA_LOSS, "etcdserver: corrupt cluster", kPermanent},
    {grpc::UNIMPLEMENTED, "", kPermanent},
};

}  // namespace

Verdict JudgeError(int code, std::string_view text) {
  for (const Row& row : kRows) {
    if (row.code == code && text.starts_with(row.text)) return row.verdict;
  }
  return kMayBeExecuted;
}

}  // namespace fairlock::storage::etcd
