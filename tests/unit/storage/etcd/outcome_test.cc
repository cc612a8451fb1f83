#include "storage/etcd/outcome.h"

#include <grpcpp/support/status_code_enum.h>
#include <gtest/gtest.h>

#include <string_view>

namespace fairlock::storage::etcd {
namespace {

using enum Outcome;
using enum NextStep;

struct Row {
  int code;
  std::string_view text;
  Verdict verdict;
};

class EtcdOutcome : public testing::TestWithParam<Row> {};

TEST_P(EtcdOutcome, IsJudgedByTheCodeAndTheText) {
  const Row& row = GetParam();
  EXPECT_EQ(JudgeError(row.code, row.text), row.verdict) << row.code << " " << row.text;
}

INSTANTIATE_TEST_SUITE_P(
    PossiblyExecuted, EtcdOutcome,
    testing::Values(
        Row{grpc::UNAVAILABLE, "etcdserver: request timed out", {kUnknown, kNextEndpoint}},
        Row{grpc::UNAVAILABLE,
            "etcdserver: request timed out, possibly due to previous leader failure",
            {kUnknown, kNextEndpoint}},
        Row{grpc::UNAVAILABLE,
            "etcdserver: request timed out, possibly due to connection lost",
            {kUnknown, kNextEndpoint}},
        Row{grpc::UNAVAILABLE, "etcdserver: leader changed", {kUnknown, kNextEndpoint}},
        Row{grpc::UNAVAILABLE, "etcdserver: server stopped", {kUnknown, kNextEndpoint}},
        Row{grpc::DEADLINE_EXCEEDED, "Deadline Exceeded", {kUnknown, kNextEndpoint}},
        Row{grpc::UNAVAILABLE, "Socket closed", {kUnknown, kNextEndpoint}},
        Row{grpc::CANCELLED, "CANCELLED", {kUnknown, kNextEndpoint}},
        Row{grpc::INTERNAL, "Received RST_STREAM with error code 2", {kUnknown, kNextEndpoint}},
        // The answer was too large to be received, so the request had been executed.
        Row{grpc::RESOURCE_EXHAUSTED,
            "Received message larger than max (300 vs. 256)",
            {kUnknown, kNextEndpoint}},
        Row{grpc::UNKNOWN, "an error that no version of etcd has", {kUnknown, kNextEndpoint}},
        Row{grpc::UNAVAILABLE,
            "etcdserver: an error of a later version",
            {kUnknown, kNextEndpoint}},
        Row{grpc::UNAVAILABLE, "", {kUnknown, kNextEndpoint}}));

INSTANTIATE_TEST_SUITE_P(
    NotHere, EtcdOutcome,
    testing::Values(
        Row{grpc::UNAVAILABLE, "etcdserver: no leader", {kUnavailable, kNextEndpoint}},
        Row{grpc::UNAVAILABLE, "etcdserver: not capable", {kUnavailable, kNextEndpoint}},
        Row{grpc::UNAVAILABLE,
            "etcdserver: rpc not supported for learner",
            {kUnavailable, kNextEndpoint}},
        Row{grpc::FAILED_PRECONDITION,
            "etcdserver: rpc not supported for learner",
            {kUnavailable, kNextEndpoint}},
        Row{grpc::RESOURCE_EXHAUSTED,
            "etcdserver: too many requests",
            {kUnavailable, kNextEndpoint}},
        Row{grpc::UNKNOWN, "raft proposal dropped", {kUnavailable, kNextEndpoint}},
        Row{grpc::UNAVAILABLE,
            "failed to connect to all addresses; last error: UNKNOWN: connection refused",
            {kUnavailable, kNextEndpoint}},
        Row{grpc::UNAVAILABLE,
            "DNS resolution failed for etcd.invalid:2379: not found",
            {kUnavailable, kNextEndpoint}}));

INSTANTIATE_TEST_SUITE_P(
    WithAnOutcomeOfTheirOwn, EtcdOutcome,
    testing::Values(
        Row{grpc::OUT_OF_RANGE,
            "etcdserver: mvcc: required revision has been compacted",
            {kCompacted, kNothing}},
        Row{grpc::RESOURCE_EXHAUSTED,
            "etcdserver: mvcc: database space exceeded",
            {kNoSpace, kNothing}},
        Row{grpc::NOT_FOUND, "etcdserver: requested lease not found", {kNoLease, kNothing}}));

INSTANTIATE_TEST_SUITE_P(
    ThatALoginMayEnd, EtcdOutcome,
    testing::Values(
        Row{grpc::UNAUTHENTICATED, "etcdserver: invalid auth token", {kUnavailable, kAuthenticate}},
        Row{grpc::INVALID_ARGUMENT,
            "etcdserver: revision of auth store is old",
            {kUnavailable, kAuthenticate}},
        Row{grpc::UNKNOWN, "auth: revision in header is old", {kUnavailable, kAuthenticate}},
        Row{grpc::INVALID_ARGUMENT,
            "etcdserver: user name is empty",
            {kUnavailable, kAuthenticate}},
        Row{grpc::INVALID_ARGUMENT,
            "etcdserver: authentication failed, invalid user ID or password",
            {kUnavailable, kNextEndpoint}}));

INSTANTIATE_TEST_SUITE_P(
    Permanent, EtcdOutcome,
    testing::Values(
        Row{grpc::PERMISSION_DENIED, "etcdserver: permission denied", {kFailed, kNothing}},
        Row{grpc::INVALID_ARGUMENT, "etcdserver: request is too large", {kFailed, kNothing}},
        Row{grpc::INVALID_ARGUMENT,
            "etcdserver: too many operations in txn request",
            {kFailed, kNothing}},
        Row{grpc::INVALID_ARGUMENT,
            "etcdserver: duplicate key given in txn request",
            {kFailed, kNothing}},
        Row{grpc::FAILED_PRECONDITION,
            "etcdserver: authentication is not enabled",
            {kFailed, kNothing}},
        Row{grpc::OUT_OF_RANGE,
            "etcdserver: mvcc: required revision is a future revision",
            {kFailed, kNothing}},
        Row{grpc::DATA_LOSS, "etcdserver: corrupt cluster", {kFailed, kNothing}},
        Row{grpc::RESOURCE_EXHAUSTED,
            "Sent message larger than max (17 vs. 16)",
            {kFailed, kNothing}},
        Row{grpc::RESOURCE_EXHAUSTED,
            "grpc: received message larger than max (3 vs. 2)",
            {kFailed, kNothing}},
        Row{grpc::UNIMPLEMENTED, "unknown service etcdserverpb.KV", {kFailed, kNothing}}));

TEST(EtcdOutcomeOfAMismatch, ATextWithAnotherCodeDecidesNothing) {
  EXPECT_EQ(JudgeError(grpc::UNKNOWN, "etcdserver: no leader"), (Verdict{kUnknown, kNextEndpoint}));
  EXPECT_EQ(JudgeError(grpc::INTERNAL, "etcdserver: mvcc: database space exceeded"),
            (Verdict{kUnknown, kNextEndpoint}));
}

}  // namespace
}  // namespace fairlock::storage::etcd
