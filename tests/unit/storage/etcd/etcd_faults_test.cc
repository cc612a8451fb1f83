// Forces each outcome of a request with a fake etcd.
#include <gmock/gmock.h>
#include <grpcpp/support/status_code_enum.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "tests/unit/storage/etcd/etcd_server.h"
#include "tests/unit/storage/etcd/etcd_test_support.h"
#include "tests/unit/storage/etcd/fake_etcd.h"

namespace fairlock::storage::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr milliseconds kAttempt{80};  // shorter than FakeEtcd::kLate

// Whether the client gives up only because its time is over.
bool IsLate(Fault fault) {
  return fault == Fault::kNeverAnswer || fault == Fault::kApplyNeverAnswer ||
         fault == Fault::kAnswerLate || fault == Fault::kApplyLate;
}

// Uses one fake etcd, or two with separate stores, which show which of the two executed a request.
class EtcdFaults : public testing::Test {
 protected:
  std::unique_ptr<EtcdClient> ClientOfBoth() {
    return ClientOf(
        {.endpoints = {etcd_.endpoint(), other_.endpoint()}, .attempt_timeout = kAttempt});
  }

  // A client that gave up before etcd received the request would leave the fault to the next one.
  TxnAnswer WriteAfter(Fault fault) {
    client_->set_attempt_timeout(IsLate(fault) ? kAttempt : kTimeout);
    etcd_.NextTxn(fault);
    return client_->Transact(GuardedPut("k", 0, "v"), kTimeout);
  }

  TxnAnswer WriteAfterError(int code, const std::string& text) {
    client_->set_attempt_timeout(kTimeout);
    etcd_.NextError(code, text);
    return client_->Transact(GuardedPut("k", 0, "v"), kTimeout);
  }

  FakeEtcd etcd_;
  FakeEtcd other_;
  std::unique_ptr<EtcdClient> client_ =
      ClientOf({.endpoints = {etcd_.endpoint()}, .attempt_timeout = kAttempt});
};

TEST_F(EtcdFaults, WithoutAFaultItBehavesAsEtcd) {
  const TxnAnswer done = WriteAfter(Fault::kNone);
  ASSERT_EQ(done.outcome, Outcome::kDone) << done.message;
  const TxnAnswer refused = WriteAfter(Fault::kNone);
  EXPECT_EQ(refused.outcome, Outcome::kRefused);
  EXPECT_THAT(refused.found, testing::ElementsAre(etcd_.Find("k")));
  EXPECT_EQ(etcd_.Find("k").mod_revision, done.revision);
}

TEST_F(EtcdFaults, ALateAnswerIsUnknownAndWasExecuted) {
  EXPECT_EQ(WriteAfter(Fault::kAnswerLate).outcome, Outcome::kUnknown);
  EXPECT_EQ(etcd_.Find("k").value, "v");
}

TEST_F(EtcdFaults, AWriteThatIsExecutedAfterTheClientGaveUpIsUnknown) {
  EXPECT_EQ(WriteAfter(Fault::kApplyLate).outcome, Outcome::kUnknown);
  EXPECT_EQ(etcd_.applied(), 0);
  std::this_thread::sleep_for(2 * FakeEtcd::kLate);
  EXPECT_EQ(etcd_.applied(), 1);
}

TEST_F(EtcdFaults, NoAnswerIsUnknownWhetherOrNotItWasExecuted) {
  const auto before = steady_clock::now();
  EXPECT_EQ(WriteAfter(Fault::kNeverAnswer).outcome, Outcome::kUnknown);
  EXPECT_LT(steady_clock::now() - before, kTimeout);
  EXPECT_EQ(etcd_.applied(), 0);
  EXPECT_EQ(WriteAfter(Fault::kApplyNeverAnswer).outcome, Outcome::kUnknown);
  EXPECT_EQ(etcd_.applied(), 1);
}

TEST_F(EtcdFaults, ADroppedConnectionIsUnknownWhetherOrNotItWasExecuted) {
  EXPECT_EQ(WriteAfter(Fault::kDropBefore).outcome, Outcome::kUnknown);
  EXPECT_EQ(etcd_.applied(), 0);
  client_ = ClientOf({.endpoints = {etcd_.endpoint()}});  // a client with an established connection
  EXPECT_EQ(WriteAfter(Fault::kApplyThenDrop).outcome, Outcome::kUnknown);
  EXPECT_EQ(etcd_.applied(), 1);
}

TEST_F(EtcdFaults, AWriteThatWasExecutedTwiceIsJudgedByTheAnswerThatCame) {
  EXPECT_EQ(WriteAfter(Fault::kApplyTwice).outcome, Outcome::kDone);
  EXPECT_EQ(etcd_.applied(), 1);  // the guard refused the second execution
  FakeEtcd twice;
  twice.NextTxn(Fault::kApplyTwiceAnswerNew);
  const auto client = ClientOf({.endpoints = {twice.endpoint()}});
  const TxnAnswer refused = client->Transact(GuardedPut("k", 0, "v"), kTimeout);
  EXPECT_EQ(refused.outcome, Outcome::kRefused);
  ASSERT_THAT(refused.found, SizeIs(1));
  EXPECT_EQ(refused.found[0].value, "v");  // this is how the caller finds its own value
}

TEST_F(EtcdFaults, AnUnknownWriteIsNotRepeatedAtTheNextEndpoint) {
  client_ = ClientOfBoth();
  EXPECT_EQ(WriteAfter(Fault::kApplyThenDrop).outcome, Outcome::kUnknown);
  EXPECT_EQ(other_.requests(), 0);
  EXPECT_EQ(WriteAfter(Fault::kNone).outcome, Outcome::kDone);
  EXPECT_EQ(other_.requests(), 1);
  EXPECT_EQ(etcd_.requests(), 1);
}

TEST_F(EtcdFaults, AReadIsRepeatedAtTheNextEndpointForEveryFault) {
  for (const Fault fault : {Fault::kNeverAnswer, Fault::kAnswerLate, Fault::kDropBefore}) {
    const auto client = ClientOfBoth();
    const int before = other_.requests();
    etcd_.NextRange(fault);
    const RangeAnswer answer = client->Range({.key = "k"}, kTimeout);
    EXPECT_EQ(answer.outcome, Outcome::kDone) << answer.message;
    EXPECT_EQ(other_.requests(), before + 1);
  }
}

TEST_F(EtcdFaults, AReadThatNobodyAnswersIsUnavailable) {
  etcd_.NextRange(Fault::kNeverAnswer);
  EXPECT_EQ(client_->Range({.key = "k"}, kTimeout).outcome, Outcome::kUnavailable);
}

TEST_F(EtcdFaults, AWriteThatEtcdRejectsBeforeItProposesGoesToTheNextEndpoint) {
  for (const char* text : {"etcdserver: no leader", "etcdserver: not capable"}) {
    client_ = ClientOfBoth();
    const int before = other_.requests();
    const TxnAnswer answer = WriteAfterError(grpc::UNAVAILABLE, text);
    EXPECT_NE(answer.outcome, Outcome::kUnavailable) << answer.message;
    EXPECT_EQ(other_.requests(), before + 1) << text;
  }
  EXPECT_EQ(other_.applied(), 1);
  EXPECT_EQ(etcd_.applied(), 0);
}

TEST_F(EtcdFaults, ADeadEndpointIsLeftForTheNextOne) {
  etcd_.Stop();
  client_ = ClientOfBoth();
  const TxnAnswer answer = client_->Transact(PutOf("k", "v"), kTimeout);
  EXPECT_EQ(answer.outcome, Outcome::kDone) << answer.message;
  EXPECT_EQ(other_.applied(), 1);
  etcd_.Start();
  client_->Rotate();
  EXPECT_EQ(client_->Transact(PutOf("k", "w"), kTimeout).outcome, Outcome::kDone);
  EXPECT_EQ(etcd_.applied(), 1);
}

TEST_F(EtcdFaults, EachErrorOfEtcdHasItsOutcome) {
  EXPECT_EQ(WriteAfterError(grpc::UNAVAILABLE, "etcdserver: request timed out").outcome,
            Outcome::kUnknown);
  EXPECT_EQ(WriteAfterError(grpc::UNAVAILABLE, "etcdserver: no leader").outcome,
            Outcome::kUnavailable);
  EXPECT_EQ(WriteAfterError(grpc::RESOURCE_EXHAUSTED, "etcdserver: too many requests").outcome,
            Outcome::kUnavailable);
  EXPECT_EQ(WriteAfterError(grpc::RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded")
                .outcome,
            Outcome::kNoSpace);
  EXPECT_EQ(WriteAfterError(grpc::NOT_FOUND, "etcdserver: requested lease not found").outcome,
            Outcome::kNoLease);
  EXPECT_EQ(WriteAfterError(grpc::PERMISSION_DENIED, "etcdserver: permission denied").outcome,
            Outcome::kFailed);
  EXPECT_EQ(WriteAfterError(grpc::INVALID_ARGUMENT, "etcdserver: user name is empty").outcome,
            Outcome::kUnavailable);
  EXPECT_EQ(etcd_.applied(), 0);
}

TEST_F(EtcdFaults, AMessageNamesTheEndpointAndTheError) {
  EXPECT_EQ(WriteAfterError(grpc::PERMISSION_DENIED, "etcdserver: permission denied").message,
            "etcd at " + etcd_.endpoint().address + ": etcdserver: permission denied");
}

TEST_F(EtcdFaults, TheTotalTimeBoundsAllAttempts) {
  client_ = ClientOfBoth();
  client_->set_attempt_timeout(milliseconds(60'000));
  etcd_.NextRange(Fault::kNeverAnswer);
  other_.NextRange(Fault::kNeverAnswer);
  const auto before = steady_clock::now();
  EXPECT_EQ(client_->Range({.key = "k"}, milliseconds(100)).outcome, Outcome::kUnavailable);
  EXPECT_LT(steady_clock::now() - before, milliseconds(30'000));
  EXPECT_EQ(other_.requests(), 0);
}

TEST_F(EtcdFaults, AnInvalidTokenIsRenewedOnceOnly) {
  client_ = ClientOf({.endpoints = {etcd_.endpoint()}, .user = "u", .password = "p"});
  EXPECT_EQ(WriteAfter(Fault::kNone).outcome, Outcome::kDone);
  EXPECT_EQ(etcd_.requests(), 2);  // the log-in and the write
  EXPECT_EQ(WriteAfterError(grpc::UNAUTHENTICATED, "etcdserver: invalid auth token").outcome,
            Outcome::kRefused);
  EXPECT_EQ(etcd_.requests(), 5);
}

TEST_F(EtcdFaults, AFailedLoginSendsNoWrite) {
  client_ = ClientOf({.endpoints = {etcd_.endpoint()}, .user = "u", .password = "p"});
  EXPECT_EQ(WriteAfterError(grpc::UNAVAILABLE, "etcdserver: request timed out").outcome,
            Outcome::kUnavailable);
  const TxnAnswer wrong = WriteAfterError(
      grpc::INVALID_ARGUMENT, "etcdserver: authentication failed, invalid user ID or password");
  EXPECT_EQ(wrong.outcome, Outcome::kUnavailable);
  EXPECT_EQ(etcd_.applied(), 0);
}

// The client pauses for 100, 200, ... ms after failures, but tries another password at once.
TEST_F(EtcdFaults, LoginsThatFailBecomeRare) {
  const TestFolder folder;
  const std::string file = folder.PathOf("password");
  std::ofstream(file) << "wrong";
  client_ = ClientOf({.endpoints = {etcd_.endpoint()}, .user = "u", .password_file = file});
  const std::string refusal = "etcdserver: authentication failed, invalid user ID or password";
  constexpr int kAttempts = 200;
  for (int i = 0; i <= kAttempts; ++i) etcd_.NextError(grpc::INVALID_ARGUMENT, refusal);
  const auto began = steady_clock::now();
  for (int i = 0; i < kAttempts; ++i) {
    const TxnAnswer answer = client_->Transact(GuardedPut("k", 0, "v"), kTimeout);
    ASSERT_EQ(answer.outcome, Outcome::kUnavailable);
    ASSERT_THAT(answer.message, HasSubstr("authentication failed"));
  }
  int logins_max = 1;
  auto pause = milliseconds(100);
  for (auto at = began + pause; at < steady_clock::now(); at += pause) {
    ++logins_max;
    pause = std::min(2 * pause, milliseconds(2'000));
  }
  const int logins = etcd_.requests();
  EXPECT_LE(logins, logins_max);
  std::ofstream(file) << "another";
  client_->Transact(GuardedPut("k", 0, "v"), kTimeout);
  EXPECT_EQ(etcd_.requests(), logins + 1);
}

TEST_F(EtcdFaults, LeasesAndCompactionAreWrites) {
  client_ = ClientOfBoth();
  etcd_.NextOther(Fault::kNeverAnswer);
  EXPECT_EQ(client_->GrantLease(std::chrono::seconds(5), kTimeout).outcome, Outcome::kUnknown);
  const LeaseAnswer lease = client_->GrantLease(std::chrono::seconds(5), kTimeout);
  EXPECT_EQ(lease.outcome, Outcome::kDone) << lease.message;
  other_.NextOther(Fault::kDropBefore);
  EXPECT_EQ(client_->Compact(1, kTimeout).outcome, Outcome::kUnknown);
  EXPECT_EQ(other_.requests(), 2);
}

TEST_F(EtcdFaults, ARenewalThatIsNotAnsweredIsRepeatedAtTheNextEndpoint) {
  const LeaseAnswer lease =
      ClientOf({.endpoints = {other_.endpoint()}})->GrantLease(std::chrono::seconds(5), kTimeout);
  client_ = ClientOfBoth();
  etcd_.NextOther(Fault::kNeverAnswer);
  const LeaseAnswer renewed = client_->KeepLeaseAlive(lease.id, kTimeout);
  EXPECT_EQ(renewed.outcome, Outcome::kDone) << renewed.message;
  EXPECT_EQ(renewed.ttl_s, 5);
}

}  // namespace
}  // namespace fairlock::storage::etcd
