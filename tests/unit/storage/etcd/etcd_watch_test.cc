// Watches on a real etcd, and on a fake one that fails.
#include "storage/etcd/etcd_watch.h"

#include <gmock/gmock.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/storage/etcd/etcd_server.h"
#include "tests/unit/storage/etcd/etcd_test_support.h"
#include "tests/unit/storage/etcd/fake_etcd.h"

namespace fairlock::storage::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Records the reports of a watch, and waits for them.
class WatchLog {
 public:
  WatchReports reports() {
    return {.began = [this](std::int64_t) { Add([this] { ++began_; }); },
            .events =
                [this](const std::vector<WatchEvent>& events) {
                  Add([&] {
                    for (const WatchEvent& event : events) events_.push_back(TextOf(event));
                  });
                },
            .lost = [this](const std::string& message) { Add([&] { lost_.push_back(message); }); },
            .compacted = [this](std::int64_t at) { Add([this, at] { compacted_ = at; }); }};
  }

  bool AwaitStreams(int count) {
    return Await([this, count] { return began_ >= count; });
  }
  bool AwaitEvents(std::size_t count) {
    return Await([this, count] { return events_.size() >= count; });
  }
  bool AwaitLosses(std::size_t count) {
    return Await([this, count] { return lost_.size() >= count; });
  }
  std::int64_t AwaitCompacted() {
    Await([this] { return compacted_ != 0; });
    return compacted_;
  }

  // Returns each put as "key=value", and each deletion as "key".
  std::vector<std::string> events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  std::vector<std::string> lost() {
    const std::lock_guard lock(mutex_);
    return lost_;
  }

 private:
  static std::string TextOf(const WatchEvent& event) {
    return event.kind == WatchEvent::Kind::kPut ? event.kv.key + "=" + event.kv.value
                                                : event.kv.key;
  }

  template <typename Change>
  void Add(Change change) {
    const std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }

  template <typename Condition>
  bool Await(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(15), condition);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_, lost_;
  int began_ = 0;
  std::int64_t compacted_ = 0;
};

std::unique_ptr<EtcdWatch> WatchOf(const EtcdOptions& options, WatchTarget target, WatchLog& log) {
  auto watch = EtcdWatch::Begin(options, std::move(target), log.reports());
  EXPECT_TRUE(watch.ok()) << watch.status().message();
  return std::move(watch.value());
}

// Retries, because writes fail or get lost while the members elect a leader.
bool EventuallyWrites(EtcdClient& client, const std::string& key, const std::string& value) {
  for (int i = 0; i < 50; ++i) {
    if (client.Transact(PutOf(key, value), kTimeout).outcome == Outcome::kDone) return true;
    std::this_thread::sleep_for(milliseconds(50));
  }
  return false;
}

class EtcdWatchOnEtcd : public testing::Test {
 protected:
  EtcdServer etcd_;
  std::unique_ptr<EtcdClient> client_ = ClientOf(etcd_.options());
  WatchLog log_;
};

TEST_F(EtcdWatchOnEtcd, ItDeliversPutsAndDeletionsOfItsRangeOnly) {
  Set(*client_, "f/0", "before");
  const auto watch = WatchOf(etcd_.options(), {.key = "f/", .range_end = EndOfPrefix("f/")}, log_);
  ASSERT_TRUE(log_.AwaitStreams(1));
  Set(*client_, "f/1", "one");
  Set(*client_, "g", "elsewhere");
  client_->Transact({.then = {DeleteRange{.key = "f/", .range_end = "f0"}}}, kTimeout);
  ASSERT_TRUE(log_.AwaitEvents(3));
  EXPECT_THAT(log_.events(), ElementsAre("f/1=one", "f/0", "f/1"));
  EXPECT_THAT(log_.lost(), IsEmpty());
}

TEST_F(EtcdWatchOnEtcd, ItBeginsAtARevisionOfThePast) {
  Set(*client_, "k", "one");
  const std::int64_t second = Set(*client_, "k", "two");
  Set(*client_, "k", "three");
  const auto watch = WatchOf(etcd_.options(), {.key = "k", .revision = second}, log_);
  ASSERT_TRUE(log_.AwaitEvents(2));
  EXPECT_THAT(log_.events(), ElementsAre("k=two", "k=three"));
}

TEST_F(EtcdWatchOnEtcd, ARestartOfEtcdLeavesNoGapAndRepeatsNothing) {
  const auto watch = WatchOf(etcd_.options(), {.key = "k"}, log_);
  ASSERT_TRUE(log_.AwaitStreams(1));
  Set(*client_, "k", "one");
  ASSERT_TRUE(log_.AwaitEvents(1));
  etcd_.member(0).Kill();
  ASSERT_TRUE(log_.AwaitLosses(1));
  etcd_.Restart();
  client_ = ClientOf(etcd_.options());
  Set(*client_, "k", "two");
  ASSERT_TRUE(log_.AwaitEvents(2));
  Set(*client_, "k", "three");
  ASSERT_TRUE(log_.AwaitEvents(3));
  EXPECT_THAT(log_.events(), ElementsAre("k=one", "k=two", "k=three"));
  EXPECT_THAT(log_.lost()[0], HasSubstr(etcd_.address_of(0)));
}

TEST_F(EtcdWatchOnEtcd, HistoryThatIsGoneEndsTheWatch) {
  const std::int64_t first = Set(*client_, "k", "one");
  const std::int64_t current = Set(*client_, "k", "two");
  ASSERT_EQ(client_->Compact(current, kTimeout).outcome, Outcome::kDone);
  const auto watch = WatchOf(etcd_.options(), {.key = "k", .revision = first}, log_);
  EXPECT_EQ(log_.AwaitCompacted(), current);
  EXPECT_THAT(log_.lost(), IsEmpty());
}

TEST_F(EtcdWatchOnEtcd, AQuietWatchStaysOnItsStream) {
  const auto watch = WatchOf(etcd_.options(), {.key = "k"}, log_);
  ASSERT_TRUE(log_.AwaitStreams(1));
  std::this_thread::sleep_for(5 * EtcdWatch::kQuietTime);
  Set(*client_, "k", "one");
  ASSERT_TRUE(log_.AwaitEvents(1));
  EXPECT_THAT(log_.lost(), IsEmpty());
}

TEST_F(EtcdWatchOnEtcd, APausedEtcdIsNoticedInBoundedTime) {
  const auto watch = WatchOf(etcd_.options(), {.key = "k"}, log_);
  ASSERT_TRUE(log_.AwaitStreams(1));
  etcd_.member(0).Pause();
  const auto before = steady_clock::now();
  ASSERT_TRUE(log_.AwaitLosses(1));
  EXPECT_LT(steady_clock::now() - before, milliseconds(20'000));
  EXPECT_THAT(log_.lost()[0], HasSubstr("the watch did not answer in time"));
  etcd_.member(0).Continue();
  Set(*client_, "k", "one");
  ASSERT_TRUE(log_.AwaitEvents(1));
}

TEST_F(EtcdWatchOnEtcd, ALargeTransactionArrivesWhole) {
  const auto watch = WatchOf(etcd_.options(), {.key = "f", .range_end = "g"}, log_);
  ASSERT_TRUE(log_.AwaitStreams(1));
  watch->Stop();
  Txn txn;
  for (int i = 0; i < 14; ++i) {
    txn.then.emplace_back(Put{.key = "f" + std::to_string(i), .value = std::string(100'000, 'x')});
  }
  const TxnAnswer answer = client_->Transact(txn, kTimeout);
  ASSERT_EQ(answer.outcome, Outcome::kDone) << answer.message;
  for (int i = 0; i < 3; ++i) client_->Transact(txn, kTimeout);
  WatchLog log;
  const auto later =
      WatchOf(etcd_.options(), {.key = "f", .range_end = "g", .revision = answer.revision}, log);
  ASSERT_TRUE(log.AwaitEvents(4 * 14));
  EXPECT_EQ(log.events().size(), 4U * 14U);
  EXPECT_THAT(log.lost(), IsEmpty());
  EXPECT_THAT(log_.events(), IsEmpty());
}

TEST(EtcdWatchOnACluster, TheNextMemberContinues) {
  EtcdServer etcd(3);
  WatchLog log;
  const auto watch = WatchOf(etcd.options(), {.key = "k"}, log);
  ASSERT_TRUE(log.AwaitStreams(1));
  EtcdOptions others = etcd.options();
  others.endpoints.erase(others.endpoints.begin());
  const auto client = ClientOf(others);
  Set(*client, "k", "one");
  ASSERT_TRUE(log.AwaitEvents(1));
  etcd.member(0).Kill();
  ASSERT_TRUE(log.AwaitStreams(2));
  EXPECT_TRUE(EventuallyWrites(*client, "other", "while the leader may be gone"));
  Set(*client, "k", "two");
  ASSERT_TRUE(log.AwaitEvents(2));
  EXPECT_THAT(log.events(), ElementsAre("k=one", "k=two"));
}

TEST(EtcdWatchOnACluster, CompactionWhileItsMemberIsAwayEndsIt) {
  EtcdServer etcd(3);
  EtcdOptions own = etcd.options();
  own.endpoints.resize(1);
  WatchLog log;
  const auto watch = WatchOf(own, {.key = "k"}, log);
  ASSERT_TRUE(log.AwaitStreams(1));
  EtcdOptions others = etcd.options();
  others.endpoints.erase(others.endpoints.begin());
  const auto client = ClientOf(others);
  Set(*client, "k", "one");
  ASSERT_TRUE(log.AwaitEvents(1));
  etcd.member(0).Kill();
  etcd.AwaitLeader(1);
  EXPECT_TRUE(EventuallyWrites(*client, "k", "two"));
  const std::int64_t current = Set(*client, "k", "three");
  ASSERT_EQ(client->Compact(current, kTimeout).outcome, Outcome::kDone);
  etcd.Restart(0);
  EXPECT_EQ(log.AwaitCompacted(), current);
  EXPECT_THAT(log.events(), ElementsAre("k=one"));
}

TEST(EtcdWatchWithALogin, ATokenOfBeforeARestartIsRenewed) {
  EtcdServer etcd(1, {.flags = {"--bcrypt-cost=4"}});
  etcd.Ctl({"user", "add", "root:root"});
  etcd.Ctl({"user", "grant-role", "root", "root"});
  etcd.Ctl({"auth", "enable"});
  EtcdOptions options = etcd.options();
  options.user = "root";
  options.password = "root";
  WatchLog log;
  const auto watch = WatchOf(options, {.key = "k"}, log);
  ASSERT_TRUE(log.AwaitStreams(1));
  etcd.Restart();
  Set(*ClientOf(options), "k", "one");
  ASSERT_TRUE(log.AwaitEvents(1)) << testing::PrintToString(log.lost());
}

class EtcdWatchFaults : public testing::Test {
 protected:
  EtcdOptions options() const {
    return {.endpoints = {etcd_.endpoint()}, .attempt_timeout = milliseconds(100)};
  }

  FakeEtcd etcd_;
  std::unique_ptr<EtcdClient> client_ = ClientOf({.endpoints = {etcd_.endpoint()}});
  WatchLog log_;
};

TEST_F(EtcdWatchFaults, AStreamThatNeverBeginsIsLeft) {
  etcd_.NextWatch(Fault::kNeverAnswer);
  const auto watch = WatchOf(options(), {.key = "k"}, log_);
  ASSERT_TRUE(log_.AwaitStreams(1));
  EXPECT_EQ(etcd_.watches(), 2);
  EXPECT_EQ(log_.lost().size(), 1U);
}

TEST_F(EtcdWatchFaults, AStreamThatFallsSilentIsLeft) {
  etcd_.NextWatch(Fault::kAnswerLate);
  const auto watch = WatchOf(options(), {.key = "k"}, log_);
  ASSERT_TRUE(log_.AwaitStreams(1));
  Set(*client_, "k", "one");
  ASSERT_TRUE(log_.AwaitEvents(1));
  EXPECT_THAT(log_.events(), ElementsAre("k=one"));
  EXPECT_EQ(etcd_.watches(), 2);
}

TEST_F(EtcdWatchFaults, ATransactionThatWasCutInTwoIsDeliveredWholeByTheNextStream) {
  const std::int64_t first = Set(*client_, "a", "1");
  client_->Transact({.then = {Put{.key = "b"}, Put{.key = "c"}, Put{.key = "d"}}}, kTimeout);
  etcd_.NextWatch(Fault::kDropBefore);
  const auto watch = WatchOf(options(), {.key = "a", .range_end = "z", .revision = first}, log_);
  ASSERT_TRUE(log_.AwaitEvents(4));
  EXPECT_THAT(log_.events(), ElementsAre("a=1", "b=", "c=", "d="));
  EXPECT_EQ(etcd_.watches(), 2);
}

TEST_F(EtcdWatchFaults, StopEndsADeadWatchAndItsPauses) {
  etcd_.Stop();
  const auto watch = WatchOf(options(), {.key = "k"}, log_);
  ASSERT_TRUE(log_.AwaitLosses(3));
  const auto before = steady_clock::now();
  watch->Stop();
  EXPECT_LT(steady_clock::now() - before, milliseconds(10'000));
  const auto losses = log_.lost().size();
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(log_.lost().size(), losses);
}

TEST(EtcdWatchThreads, NoneIsLeftWhenTheWatchIsGone) {
  const int before = Threads();
  EtcdServer etcd;
  WatchLog log;
  {
    const auto watch = WatchOf(etcd.options(), {.key = "k"}, log);
    ASSERT_TRUE(log.AwaitStreams(1));
  }
  EXPECT_TRUE(AwaitThreads(before)) << Threads() << " threads, " << before << " before";
}

}  // namespace
}  // namespace fairlock::storage::etcd
