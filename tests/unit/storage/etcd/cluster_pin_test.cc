// A client uses the endpoints of one etcd cluster only.
#include "storage/etcd/cluster_pin.h"

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <thread>

#include "storage/etcd/etcd_watch.h"
#include "tests/unit/storage/etcd/etcd_server.h"
#include "tests/unit/storage/etcd/etcd_test_support.h"

namespace fairlock::storage::etcd {
namespace {

using testing::HasSubstr;

TEST(ClusterPin, TheFirstClusterIsPinned) {
  ClusterPin pin;
  EXPECT_EQ(pin.Admit("a", 3, 0xabc), "");
  EXPECT_EQ(pin.Admit("b", 3, 0xabc), "");
  EXPECT_EQ(pin.Admit("c", 3, 0xdef),
            "it belongs to the etcd cluster def, but this node uses the cluster abc; cluster_etcd "
            "must list the members of one cluster");
  EXPECT_EQ(pin.id(), 0xabcU);
  EXPECT_FALSE(pin.was_replaced());
  EXPECT_FALSE(pin.Refuses("b"));
  EXPECT_TRUE(pin.Refuses("c"));
  EXPECT_FALSE(pin.Refuses("d")) << "it was not found yet";
}

TEST(ClusterPin, AnotherClusterIsPinnedOnlyIfAllEndpointsBelongToIt) {
  ClusterPin pin(0xabc);
  EXPECT_NE(pin.Admit("a", 2, 0xdef), "");
  EXPECT_EQ(pin.Admit("b", 2, 0xdef), "");
  EXPECT_EQ(pin.id(), 0xdefU);
  EXPECT_TRUE(pin.was_replaced());
  EXPECT_EQ(pin.Admit("a", 2, 0xdef), "");
}

TEST(ClusterPin, AClusterThatIsOnlyAwayIsNotReplaced) {
  ClusterPin pin;
  EXPECT_EQ(pin.Admit("a", 2, 0xabc), "");
  EXPECT_NE(pin.Admit("b", 2, 0xdef), "");
  EXPECT_NE(pin.Admit("b", 2, 0xdef), "");
  EXPECT_EQ(pin.id(), 0xabcU);
}

// The endpoints of two etcd clusters.
class TwoClusters : public testing::Test {
 protected:
  EtcdOptions Options() const {
    EtcdOptions options = first_.options();
    options.endpoints.push_back(second_.options().endpoints.front());
    options.pin = pin_;
    return options;
  }

  EtcdServer first_;
  EtcdServer second_;
  const std::shared_ptr<ClusterPin> pin_ = std::make_shared<ClusterPin>();
};

TEST_F(TwoClusters, NothingIsWrittenToTheOther) {
  const auto client = ClientOf(Options());
  Set(*client, "k", "one");
  first_.member(0).Kill();
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(client->Transact(PutOf("k", "two"), kTimeout).outcome, Outcome::kDone);
  }
  const StatusAnswer status = client->StatusOf(1, kTimeout);
  EXPECT_EQ(status.outcome, Outcome::kUnavailable);
  EXPECT_THAT(status.message, HasSubstr("it belongs to the etcd cluster "));
  EXPECT_EQ(ClientOf(second_.options())->Range({.key = "k"}, kTimeout).count, 0);
  first_.member(0).Start();
  first_.AwaitLeader(0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (client->Transact(PutOf("k", "three"), kTimeout).outcome != Outcome::kDone) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
  }
}

TEST_F(TwoClusters, NoWatchFollowsTheOther) {
  Set(*ClientOf(Options()), "k", "one");  // pins the first
  first_.member(0).Kill();
  bool has_begun = false;
  auto watch = EtcdWatch::Begin(Options(), {.key = "k", .range_end = {}, .revision = 1},
                                {.began = [&](std::int64_t) { has_begun = true; },
                                 .events = [](const auto&) {},
                                 .lost = [](const std::string&) {},
                                 .compacted = [](std::int64_t) {}});
  ASSERT_TRUE(watch.ok());
  std::this_thread::sleep_for(std::chrono::seconds(1));
  watch.value()->Stop();
  EXPECT_FALSE(has_begun);
}

}  // namespace
}  // namespace fairlock::storage::etcd
