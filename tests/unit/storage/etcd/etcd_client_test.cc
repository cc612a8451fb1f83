// The client against a real etcd of one member.
#include "storage/etcd/etcd_client.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "tests/unit/storage/etcd/etcd_server.h"

namespace fairlock::storage::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr milliseconds kTimeout{5'000};

Txn PutOf(std::string key, std::string value) {
  return {.then = {Put{.key = std::move(key), .value = std::move(value)}}};
}

// If the key has this revision, it gets the value; otherwise it is returned.
Txn GuardedPut(const std::string& key, std::int64_t revision, std::string value) {
  return {.compares = {{.key = key, .revision = revision}},
          .then = {Put{.key = key, .value = std::move(value)}},
          .otherwise = {Get{.key = key}}};
}

std::unique_ptr<EtcdClient> ClientOf(const EtcdOptions& options) {
  auto client = EtcdClient::Open(options);
  EXPECT_TRUE(client.ok()) << client.status().message();
  return std::move(client.value());
}

class EtcdClientOnEtcd : public testing::Test {
 protected:
  std::int64_t Set(const std::string& key, const std::string& value) {
    const TxnAnswer answer = client_->Transact(PutOf(key, value), kTimeout);
    EXPECT_EQ(answer.outcome, Outcome::kDone) << answer.message;
    return answer.revision;
  }

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
  const std::int64_t revision = Set("beat", "one");
  const TxnAnswer answer = client_->Transact(GuardedPut("beat", 0, "two"), kTimeout);
  EXPECT_EQ(answer.outcome, Outcome::kRefused);
  EXPECT_THAT(answer.message, IsEmpty());
  EXPECT_THAT(answer.found, ElementsAre(Field(&KeyValue::mod_revision, revision)));
  EXPECT_EQ(answer.found[0].value, "one");
  EXPECT_EQ(answer.revision, revision);
}

}  // namespace
}  // namespace fairlock::storage::etcd
