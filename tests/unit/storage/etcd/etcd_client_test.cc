// The client, tested against a real etcd with one member.
#include "storage/etcd/etcd_client.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <thread>

#include "tests/unit/storage/etcd/etcd_server.h"
#include "tests/unit/storage/etcd/etcd_test_support.h"

namespace fairlock::storage::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class EtcdClientOnEtcd : public testing::Test {
 protected:
  EtcdServer etcd_;
  std::unique_ptr<EtcdClient> client_ = ClientOf(etcd_.options());
};

TEST_F(EtcdClientOnEtcd, AGuardThatHoldsLetsTheTransactionWrite) {
  const TxnAnswer created = client_->Transact(GuardedPut("beat", 0, "one"), kTimeout);
  ASSERT_EQ(created.outcome, Outcome::kDone) << created.message;
  const TxnAnswer next = client_->Transact(GuardedPut("beat", created.revision, "two"), kTimeout);
  ASSERT_EQ(next.outcome, Outcome::kDone) << next.message;
  EXPECT_EQ(next.revision, created.revision + 1);
  EXPECT_NE(next.cluster_id, 0U);
  const RangeAnswer range = client_->Range({.key = "beat"}, kTimeout);
  EXPECT_THAT(range.found, ElementsAre(KeyValue{.key = "beat",
                                                .value = "two",
                                                .create_revision = created.revision,
                                                .mod_revision = next.revision}));
}

TEST_F(EtcdClientOnEtcd, ARefusedTransactionReturnsWhatIsThere) {
  const std::int64_t revision = Set(*client_, "beat", "one");
  const TxnAnswer answer = client_->Transact(GuardedPut("beat", 0, "two"), kTimeout);
  EXPECT_EQ(answer.outcome, Outcome::kRefused);
  EXPECT_THAT(answer.message, IsEmpty());
  ASSERT_THAT(answer.found, ElementsAre(Field(&KeyValue::mod_revision, revision)));
  EXPECT_EQ(answer.found[0].value, "one");
  EXPECT_EQ(answer.revision, revision);
}

TEST_F(EtcdClientOnEtcd, EveryComparisonMustHold) {
  using Target = Compare::Target;
  const std::int64_t created = Set(*client_, "k", "one");
  const std::int64_t changed = Set(*client_, "k", "two");
  const auto outcome_of = [&](std::vector<Compare> compares) {
    return client_->Transact({.compares = std::move(compares)}, kTimeout).outcome;
  };
  const Compare value{.key = "k", .target = Target::kValue, .value = "two"};
  const Compare create{.key = "k", .target = Target::kCreateRevision, .revision = created};
  const Compare mod{.key = "k", .target = Target::kModRevision, .revision = changed};
  EXPECT_EQ(outcome_of({value, create, mod}), Outcome::kDone);
  const Compare old_value{.key = "k", .target = Target::kValue, .value = "one"};
  const Compare later{.key = "k", .target = Target::kCreateRevision, .revision = changed};
  const Compare earlier{.key = "k", .target = Target::kModRevision, .revision = created};
  EXPECT_EQ(outcome_of({value, create, earlier}), Outcome::kRefused);
  EXPECT_EQ(outcome_of({old_value}), Outcome::kRefused);
  EXPECT_EQ(outcome_of({later}), Outcome::kRefused);
}

TEST_F(EtcdClientOnEtcd, ATransactionDeletesARangeAndWritesAtOneRevision) {
  for (const char* key : {"f/1", "f/2", "f/3"}) Set(*client_, key, "frame");
  const TxnAnswer answer = client_->Transact(
      {.then = {DeleteRange{.key = "f/1", .range_end = "f/3"}, Put{.key = "h", .value = "new"}}},
      kTimeout);
  ASSERT_EQ(answer.outcome, Outcome::kDone) << answer.message;
  const RangeAnswer all = client_->Range({.key = "f", .range_end = "i"}, kTimeout);
  ASSERT_THAT(all.found, ElementsAre(Field(&KeyValue::key, "f/3"), Field(&KeyValue::key, "h")));
  EXPECT_EQ(all.found[1].mod_revision, answer.revision);
}

TEST_F(EtcdClientOnEtcd, ARangeIsReadInSlicesPinnedAtARevision) {
  for (int i = 0; i < 5; ++i) Set(*client_, "f/" + std::to_string(i), "old");
  const std::int64_t pinned = Set(*client_, "g", "not in the prefix");
  Set(*client_, "f/3", "new");
  Get get{.key = "f/", .range_end = EndOfPrefix("f/"), .limit = 3, .revision = pinned};
  const RangeAnswer first = client_->Range(get, kTimeout);
  ASSERT_EQ(first.outcome, Outcome::kDone) << first.message;
  EXPECT_THAT(first.found, SizeIs(3));
  EXPECT_TRUE(first.more);
  EXPECT_EQ(first.count, 5);
  EXPECT_EQ(first.revision, pinned + 1);
  get.key = first.found.back().key + '\0';
  const RangeAnswer second = client_->Range(get, kTimeout);
  ASSERT_THAT(second.found, SizeIs(2));
  EXPECT_EQ(second.found[0].value, "old");
  EXPECT_FALSE(second.more);
  get.keys_only = true;
  get.serializable = true;
  const RangeAnswer keys = client_->Range(get, kTimeout);
  EXPECT_THAT(keys.found, ElementsAre(Field(&KeyValue::key, "f/3"), Field(&KeyValue::key, "f/4")));
  EXPECT_THAT(keys.found[0].value, IsEmpty());
}

TEST_F(EtcdClientOnEtcd, ACompactedRevisionIsAnOutcomeOfItsOwn) {
  const std::int64_t old = Set(*client_, "k", "one");
  const std::int64_t current = Set(*client_, "k", "two");
  EXPECT_EQ(client_->Compact(current, kTimeout).outcome, Outcome::kDone);
  const RangeAnswer range = client_->Range({.key = "k", .revision = old}, kTimeout);
  EXPECT_EQ(range.outcome, Outcome::kCompacted);
  EXPECT_THAT(range.message, HasSubstr("required revision has been compacted"));
  EXPECT_EQ(client_->Compact(current, kTimeout).outcome, Outcome::kCompacted);
  EXPECT_EQ(client_->Range({.key = "k", .revision = current}, kTimeout).outcome, Outcome::kDone);
  const RangeAnswer future = client_->Range({.key = "k", .revision = current + 100}, kTimeout);
  EXPECT_EQ(future.outcome, Outcome::kFailed);
}

TEST_F(EtcdClientOnEtcd, ALeaseEndsItsKeysUnlessItIsRenewed) {
  const LeaseAnswer lease = client_->GrantLease(seconds(1), kTimeout);
  ASSERT_EQ(lease.outcome, Outcome::kDone) << lease.message;
  EXPECT_EQ(lease.ttl_s, 1);
  ASSERT_EQ(client_->Transact(PutOf("n/a", "", lease.id), kTimeout).outcome, Outcome::kDone);
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(milliseconds(400));
    const LeaseAnswer renewed = client_->KeepLeaseAlive(lease.id, kTimeout);
    ASSERT_EQ(renewed.outcome, Outcome::kDone) << renewed.message;
    EXPECT_EQ(renewed.ttl_s, 1);
  }
  const RangeAnswer kept = client_->Range({.key = "n/a"}, kTimeout);
  EXPECT_THAT(kept.found, ElementsAre(Field(&KeyValue::lease, lease.id)));
  std::this_thread::sleep_for(milliseconds(2'500));
  EXPECT_THAT(client_->Range({.key = "n/a"}, kTimeout).found, IsEmpty());
  EXPECT_EQ(client_->KeepLeaseAlive(lease.id, kTimeout).outcome, Outcome::kNoLease);
  EXPECT_EQ(client_->Transact(PutOf("n/a", "", lease.id), kTimeout).outcome, Outcome::kNoLease);
}

TEST_F(EtcdClientOnEtcd, ARevokedLeaseIsGoneWithItsKeys) {
  const LeaseAnswer lease = client_->GrantLease(seconds(60), kTimeout);
  ASSERT_EQ(client_->Transact(PutOf("n/a", "", lease.id), kTimeout).outcome, Outcome::kDone);
  EXPECT_EQ(client_->RevokeLease(lease.id, kTimeout).outcome, Outcome::kDone);
  EXPECT_THAT(client_->Range({.key = "n/a"}, kTimeout).found, IsEmpty());
  EXPECT_EQ(client_->RevokeLease(lease.id, kTimeout).outcome, Outcome::kNoLease);
}

TEST_F(EtcdClientOnEtcd, ItTellsTheStateOfTheMemberAndOfTheCluster) {
  const StatusAnswer status = client_->StatusOf(0, kTimeout);
  ASSERT_EQ(status.outcome, Outcome::kDone) << status.message;
  EXPECT_THAT(status.version, HasSubstr("3."));
  EXPECT_EQ(status.leader, status.member_id);
  EXPECT_GT(status.size_bytes, 0);
  EXPECT_LE(status.size_in_use_bytes, status.size_bytes);
  EXPECT_FALSE(status.is_learner);
  const MembersAnswer members = client_->Members(kTimeout);
  ASSERT_THAT(members.members, ElementsAre(Field(&Member::name, "m0")));
  EXPECT_EQ(members.members[0].id, status.member_id);
  EXPECT_THAT(members.members[0].client_urls, ElementsAre("http://" + etcd_.address_of(0)));
  const AlarmsAnswer alarms = client_->Alarms(kTimeout);
  EXPECT_EQ(alarms.outcome, Outcome::kDone) << alarms.message;
  EXPECT_THAT(alarms.alarms, IsEmpty());
}

TEST_F(EtcdClientOnEtcd, ARequestAboveTheLimitOfEtcdFails) {
  const auto error_of = [&](std::size_t bytes) {
    const TxnAnswer answer = client_->Transact(PutOf("k", std::string(bytes, 'x')), kTimeout);
    EXPECT_EQ(answer.outcome, Outcome::kFailed);
    return answer.message;
  };
  EXPECT_THAT(error_of(1'700'000), HasSubstr("etcdserver: request is too large"));
  EXPECT_THAT(error_of(3'000'000), HasSubstr("grpc: received message larger than max"));
  EXPECT_THAT(error_of(20'000'000), HasSubstr("Sent message larger than max"));
  EXPECT_THAT(client_->Range({.key = "k"}, kTimeout).found, IsEmpty());
}

TEST_F(EtcdClientOnEtcd, ItFindsEtcdAgainAfterARestart) {
  Set(*client_, "k", "one");
  etcd_.member(0).Kill();
  EXPECT_EQ(client_->Range({.key = "k"}, kTimeout).outcome, Outcome::kUnavailable);
  EXPECT_EQ(client_->Transact(PutOf("k", "two"), kTimeout).outcome, Outcome::kUnavailable);
  etcd_.Restart();
  const RangeAnswer range = client_->Range({.key = "k"}, kTimeout);
  ASSERT_EQ(range.outcome, Outcome::kDone) << range.message;
  EXPECT_EQ(range.found[0].value, "one");
}

TEST(EtcdQuota, AFullDatabaseIsAnOutcomeOfItsOwn) {
  EtcdServer etcd(1, {.flags = {"--quota-backend-bytes=1000000"}});
  const auto client = ClientOf(etcd.options());
  TxnAnswer answer;
  for (int i = 0; i < 400; ++i) {  // etcd updates the size that it reports every 100 ms
    answer = client->Transact(PutOf("k" + std::to_string(i), std::string(100'000, 'x')), kTimeout);
    if (answer.outcome != Outcome::kDone) break;
  }
  EXPECT_EQ(answer.outcome, Outcome::kNoSpace);
  EXPECT_THAT(answer.message, HasSubstr("database space exceeded"));
  EXPECT_EQ(client->Transact(PutOf("k", "small"), kTimeout).outcome, Outcome::kNoSpace);
  EXPECT_EQ(client->Range({.key = "k0"}, kTimeout).outcome, Outcome::kDone);
  EXPECT_THAT(client->Alarms(kTimeout).alarms,
              ElementsAre(Field(&Alarm::kind, Alarm::Kind::kNoSpace)));
}

TEST(EtcdThreads, NoneIsLeftWhenTheClientIsGone) {
  const int before = Threads();
  EtcdServer etcd;
  {
    const auto client = ClientOf(etcd.options());
    Set(*client, "k", "v");
    EXPECT_GT(Threads(), before);
  }
  EXPECT_TRUE(AwaitThreads(before)) << Threads() << " threads, " << before << " before";
}

TEST(EtcdPrefix, ItsEndFollowsEveryKeyThatHasIt) {
  EXPECT_EQ(EndOfPrefix("f/"), "f0");
  EXPECT_EQ(EndOfPrefix("a\xff\xff"), "b");
  EXPECT_EQ(EndOfPrefix("\xff"), std::string(1, '\0'));
  EXPECT_EQ(EndOfPrefix(""), std::string(1, '\0'));
}

}  // namespace
}  // namespace fairlock::storage::etcd
