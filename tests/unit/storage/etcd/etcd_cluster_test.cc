// The client, tested against a real etcd with three members, some of which are dead or paused.
#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "tests/unit/storage/etcd/etcd_server.h"
#include "tests/unit/storage/etcd/etcd_test_support.h"

namespace fairlock::storage::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

class EtcdClientOnACluster : public testing::Test {
 protected:
  EtcdServer etcd_{3};
  std::unique_ptr<EtcdClient> client_ = ClientOf(etcd_.options());
};

TEST_F(EtcdClientOnACluster, RotationAsksEachMemberInTurn) {
  std::set<std::uint64_t> members;
  for (int i = 0; i < 3; ++i) {
    const RangeAnswer answer = client_->Range({.key = "k"}, kTimeout);
    EXPECT_EQ(answer.outcome, Outcome::kDone) << answer.message;
    members.insert(answer.member_id);
    client_->Rotate();
  }
  EXPECT_EQ(members.size(), 3U);
  EXPECT_EQ(client_->Members(kTimeout).members.size(), 3U);
}

TEST_F(EtcdClientOnACluster, AWriteThatFindsNoConnectionGoesToTheNextMember) {
  ASSERT_EQ(client_->Transact(PutOf("k", "one"), kTimeout).outcome, Outcome::kDone);
  // A member that does not lead, so that the others need no election.
  std::size_t follower = 0;
  StatusAnswer status = client_->StatusOf(follower, kTimeout);
  if (status.leader == status.member_id) status = client_->StatusOf(++follower, kTimeout);
  ASSERT_EQ(status.outcome, Outcome::kDone) << status.message;
  ASSERT_NE(status.leader, status.member_id);
  EtcdOptions follower_first = etcd_.options();
  std::swap(follower_first.endpoints[0], follower_first.endpoints[follower]);
  etcd_.member(follower).Kill();
  client_ = ClientOf(follower_first);
  const auto before = steady_clock::now();
  const TxnAnswer next = client_->Transact(PutOf("k", "two"), kTimeout);
  EXPECT_EQ(next.outcome, Outcome::kDone) << next.message;
  EXPECT_NE(next.member_id, status.member_id);
  EXPECT_LT(steady_clock::now() - before, kTimeout);
}

TEST_F(EtcdClientOnACluster, APausedMemberIsLeftAfterOneAttempt) {
  const RangeAnswer first = client_->Range({.key = "k"}, kTimeout);
  ASSERT_EQ(first.outcome, Outcome::kDone) << first.message;
  etcd_.member(0).Pause();
  const TxnAnswer write = client_->Transact(PutOf("k", "one"), kTimeout);
  EXPECT_EQ(write.outcome, Outcome::kUnknown);
  EXPECT_THAT(write.message, HasSubstr(etcd_.address_of(0)));
  const RangeAnswer read = client_->Range({.key = "k"}, kTimeout);
  EXPECT_EQ(read.outcome, Outcome::kDone) << read.message;
  EXPECT_NE(read.member_id, first.member_id);
  etcd_.member(0).Continue();
}

TEST_F(EtcdClientOnACluster, WithoutAQuorumNoWriteIsCertain) {
  ASSERT_EQ(client_->Range({.key = "k"}, kTimeout).outcome, Outcome::kDone);
  etcd_.member(1).Kill();
  etcd_.member(2).Kill();
  const TxnAnswer write = client_->Transact(PutOf("k", "lost"), kTimeout);
  EXPECT_TRUE(write.outcome == Outcome::kUnknown || write.outcome == Outcome::kUnavailable);
  EXPECT_EQ(client_->Range({.key = "k"}, kTimeout).outcome, Outcome::kUnavailable);
  const Get stale{.key = "k", .serializable = true};
  EXPECT_EQ(client_->StatusOf(0, kTimeout).outcome, Outcome::kDone);
  EXPECT_EQ(client_->StatusOf(1, kTimeout).outcome, Outcome::kUnavailable);
  EXPECT_EQ(client_->Range(stale, kTimeout).outcome, Outcome::kUnavailable);
}

TEST_F(EtcdClientOnACluster, WithAllMembersDeadNothingIsExecutedAndTheMessageSaysWhy) {
  for (std::size_t i = 0; i < 3; ++i) etcd_.member(i).Kill();
  const auto before = steady_clock::now();
  const TxnAnswer write = client_->Transact(PutOf("k", "one"), kTimeout);
  EXPECT_EQ(write.outcome, Outcome::kUnavailable);
  EXPECT_THAT(write.message, HasSubstr("Connection refused"));
  EXPECT_EQ(client_->Range({.key = "k"}, kTimeout).outcome, Outcome::kUnavailable);
  EXPECT_LT(steady_clock::now() - before, kTimeout);
}

}  // namespace
}  // namespace fairlock::storage::etcd
