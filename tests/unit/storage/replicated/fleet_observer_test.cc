#include "storage/replicated/fleet_observer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "storage/replicated/fleet_record.h"
#include "storage/replicated/node_record.h"
#include "tests/doubles/free_port.h"
#include "tests/unit/storage/etcd/etcd_server.h"
#include "tests/unit/storage/etcd/etcd_test_support.h"
#include "tests/unit/storage/replicated/replicated_test_support.h"

namespace fairlock::storage::replicated {
namespace {

NodeRecord RecordOf(const std::string& name, const std::string& address) {
  return {.name = name,
          .run = "run of " + name + " at " + address,
          .address = address,
          .tls_port = 3'248,
          .http_port = 4'200,
          .is_https = true,
          .version = "1.0",
          .is_in_sync = true,
          .frames_behind = 7,
          .started_unix_ms = 1'700'000'000'000};
}

// A node that does nothing but describe itself.
class Node {
 public:
  Node(const etcd::EtcdServer& server, NodeRecord record,
       std::optional<std::uint32_t> partition = {})
      : Node(server.options(), std::move(record), 2s, partition) {}
  Node(const etcd::EtcdOptions& options, NodeRecord record,
       std::chrono::milliseconds call_timeout = 2s, std::optional<std::uint32_t> partition = {},
       std::chrono::milliseconds balance_after = 0s)
      : record_(std::move(record)) {
    auto observer = FleetObserver::Start({.etcd = options,
                                          .prefix = "/fairlock/t/",
                                          .partition = partition,
                                          .balance_after = balance_after,
                                          .lease_ttl = 2s,
                                          .round = 50ms,
                                          .call_timeout = call_timeout,
                                          .now_ms = NowMs,
                                          .describe = [this] { return Record(); },
                                          .on_view = [this] { TakeView(); }});
    EXPECT_TRUE(observer.ok()) << observer.status().message();
    const std::lock_guard lock(mutex_);
    observer_ = std::move(observer.value());
  }

  NodeRecord Record() {
    const std::lock_guard lock(mutex_);
    return record_;
  }
  void Change(NodeRecord record) {
    {
      const std::lock_guard lock(mutex_);
      record_ = std::move(record);
    }
    observer_->Wake();
  }
  FleetView View() const { return observer_->View(); }
  // Waits for a view that fulfils the condition; the test fails after a few seconds.
  template <typename Condition>
  FleetView Await(Condition condition) const {
    for (int i = 0; i < 1'000; ++i) {
      FleetView view = View();
      if (condition(view)) return view;
      std::this_thread::sleep_for(10ms);
    }
    ADD_FAILURE() << "the view is not as expected; error: " << View().error
                  << "; refusal: " << View().refusal;
    return View();
  }
  FleetView AwaitNodes(std::size_t count) const {
    return Await([&](const FleetView& view) { return view.nodes.size() == count; });
  }
  int rounds() const { return rounds_; }
  // The nodes to which this one was to hand its partition over.
  std::vector<std::string> Successors() {
    const std::lock_guard lock(mutex_);
    return successors_;
  }
  void KeepRecord() { observer_->KeepRecord(); }
  void AcceptEtcd() { observer_->AcceptEtcd(); }

 private:
  void TakeView() {
    ++rounds_;
    const std::lock_guard lock(mutex_);
    // The first rounds may come before Start has returned.
    const std::string successor = observer_ ? observer_->View().successor : "";
    if (!successor.empty()) successors_.push_back(successor);
  }

  std::mutex mutex_;
  NodeRecord record_;
  std::vector<std::string> successors_;
  std::atomic<int> rounds_ = 0;
  std::unique_ptr<FleetObserver> observer_;
};

TEST(FleetObserver, NodesSeeEachOtherAndTheMembersOfEtcd) {
  const etcd::EtcdServer server(3);
  Node a(server, RecordOf("a", "h1:1"));
  auto b = std::make_unique<Node>(server, RecordOf("b", "h2:1"));
  FleetView view = a.AwaitNodes(2);
  EXPECT_EQ(view.nodes[0], a.Record());
  EXPECT_EQ(view.nodes[1], b->Record());
  EXPECT_EQ(view.error, "");
  EXPECT_EQ(view.refusal, "");
  EXPECT_LE(view.read_at, NowMs());

  view = a.Await([](const FleetView& one) { return one.etcd.size() == 3; });
  EXPECT_EQ(std::ranges::count_if(view.etcd, &MemberState::is_leader), 1);
  for (const MemberState& member : view.etcd) {
    EXPECT_EQ(member.error, "");
    EXPECT_EQ(member.version.substr(0, 2), "3.");
    EXPECT_GT(member.size_bytes, 0);
    EXPECT_LE(member.size_in_use_bytes, member.size_bytes);
  }
  EXPECT_GT(LargestDatabase(view), 0);
  EXPECT_FALSE(view.has_no_space);

  // A node that stops cleanly disappears at once.
  b.reset();
  a.AwaitNodes(1);
}

// Nodes that join meanwhile must not take its place.
TEST(FleetObserver, ANodeThatStartsAgainRemainsInItsPartition) {
  const etcd::EtcdServer server;
  std::optional<Node> a(std::in_place, server, RecordOf("a", "h1:1"));
  a->AwaitNodes(1);
  a->KeepRecord();
  a.reset();
  const Node b(server, RecordOf("b", "h2:1"));
  b.AwaitNodes(2);
  NodeRecord restarted = RecordOf("a", "h1:1");
  restarted.run = "another run";
  const Node again(server, restarted);
  b.Await([](const FleetView& view) { return view.nodes[0].run == "another run"; });
  EXPECT_EQ(b.View().nodes.size(), 2);
}

TEST(FleetObserver, AChangeIsSeenWithoutWaitingForTheNextRound) {
  const etcd::EtcdServer server;
  Node a(server, RecordOf("a", "h1:1"));
  Node b(server, RecordOf("b", "h2:1"));
  a.AwaitNodes(2);
  NodeRecord leader = b.Record();
  leader.leads = true;
  b.Change(leader);
  a.Await([](const FleetView& view) { return view.nodes[1].leads; });
}

TEST(FleetObserver, ASecondNodeOfOneNameIsRefusedAndTheFirstIsNot) {
  const etcd::EtcdServer server;
  const Node first(server, RecordOf("a", "h1:1"));
  first.AwaitNodes(1);
  const Node second(server, RecordOf("a", "h2:1"));
  const FleetView view = second.Await([](const FleetView& one) { return !one.refusal.empty(); });
  EXPECT_EQ(view.refusal, "another node named a runs at h1:1; give each node its own cluster_node");
  EXPECT_EQ(first.View().refusal, "");
  EXPECT_EQ(first.View().nodes[0].address, "h1:1");
}

TEST(FleetObserver, ANodeThatWasKilledIsNotInItsOwnWay) {
  const etcd::EtcdServer server;
  auto client = std::move(etcd::EtcdClient::Open(server.options()).value());
  // Writes what a killed process leaves until its lease ends: here one at the same address as a new
  // node, and one at another address.
  const auto leave = [&](const NodeRecord& record) {
    etcd::Txn txn;
    txn.then.push_back(etcd::Put{.key = "/fairlock/t/n/" + record.name,
                                 .value = EncodeNode(record),
                                 .lease = client->GrantLease(1s, 5s).id});
    ASSERT_EQ(client->Transact(txn, 5s).outcome, etcd::Outcome::kDone);
  };
  NodeRecord before = RecordOf("a", "h1:1");
  before.run = "before";
  leave(before);
  leave(RecordOf("b", "h3:1"));
  const Node a(server, RecordOf("a", "h1:1"));
  const Node b(server, RecordOf("b", "h2:1"));
  a.Await([](const FleetView& view) {
    return view.nodes.size() == 2 && view.nodes[0].run != "before" &&
           view.nodes[1].address == "h2:1";
  });
  EXPECT_EQ(b.View().refusal, "");
}

// The record as it is in etcd now; none if there is none.
std::optional<NodeRecord> Find(etcd::EtcdClient& client, const std::string& name) {
  const auto answer = client.Range({.key = "/fairlock/t/n/" + name, .range_end = {}}, 5s);
  EXPECT_EQ(answer.outcome, etcd::Outcome::kDone) << answer.message;
  if (answer.found.empty()) return std::nullopt;
  return DecodeNode(name, answer.found.front().value).value();
}

void Put(etcd::EtcdClient& client, const NodeRecord& record) {
  etcd::Set(client, "/fairlock/t/n/" + record.name, EncodeNode(record));
}

TEST(FleetObserver, ARecordThatIsGoneIsWrittenAgain) {
  const etcd::EtcdServer server;
  const auto client = etcd::ClientOf(server.options());
  const Node a(server, RecordOf("a", "h1:1"));
  a.AwaitNodes(1);
  server.Ctl({"del", "/fairlock/t/n/a"});
  EXPECT_TRUE(Becomes([&] { return Find(*client, "a").has_value(); }));
}

// This happens, for example, when etcd is restored from a backup.
TEST(FleetObserver, AnEarlierRecordOfTheSameRunIsReplaced) {
  const etcd::EtcdServer server;
  const auto client = etcd::ClientOf(server.options());
  const Node a(server, RecordOf("a", "h1:1"));
  a.AwaitNodes(1);
  NodeRecord earlier = *Find(*client, "a");
  ++earlier.partition;
  etcd::Set(*client, "/fairlock/t/n/a", EncodeNode(earlier));
  EXPECT_TRUE(Becomes([&] { return Find(*client, "a")->partition == 0; }));
}

// While the lease of a node had run out, a second node has taken its name.
TEST(FleetObserver, OfTwoNodesOfOneNameTheLaterOneIsRefused) {
  const etcd::EtcdServer server;
  const auto client = etcd::ClientOf(server.options());
  const Node first(server, RecordOf("a", "h1:1"));
  first.AwaitNodes(1);
  NodeRecord second = RecordOf("a", "h2:1");
  second.started_unix_ms = first.View().nodes[0].started_unix_ms + 1;
  Put(*client, second);
  EXPECT_TRUE(Becomes([&] { return Find(*client, "a")->address == "h1:1"; }));
  EXPECT_EQ(first.View().refusal, "");
  second.started_unix_ms -= 2;
  Put(*client, second);
  const FleetView view = first.Await([](const FleetView& one) { return !one.refusal.empty(); });
  EXPECT_EQ(view.refusal, "another node named a runs at h2:1; give each node its own cluster_node");
  EXPECT_EQ(Find(*client, "a")->address, "h2:1");
}

// A member that accepts connections and answers nothing.
class SilentMember {
 public:
  SilentMember() : port_(tests::FreePort()), listening_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(static_cast<std::uint16_t>(port_));
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listening_, reinterpret_cast<sockaddr*>(&where), sizeof(where)), 0);
    EXPECT_EQ(::listen(listening_, 16), 0);
  }
  SilentMember(const SilentMember&) = delete;
  SilentMember& operator=(const SilentMember&) = delete;
  ~SilentMember() { ::close(listening_); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  const int port_;
  const int listening_;
};

TEST(FleetObserver, MembersThatDoNotAnswerDoNotEndTheLease) {
  const etcd::EtcdServer server;
  const auto client = etcd::ClientOf(server.options());
  etcd::EtcdOptions options = server.options();
  const SilentMember silent[4];
  for (const SilentMember& member : silent) {
    options.endpoints.push_back(options.endpoints.front());
    options.endpoints.back().address = member.address();
  }
  const Node a(options, RecordOf("a", "h1:1"), 1s);
  ASSERT_TRUE(Becomes([&] { return Find(*client, "a").has_value(); }));
  a.Await([&](const FleetView& view) {
    EXPECT_TRUE(Find(*client, "a").has_value());
    return view.etcd.size() == 5;
  });
}

void WriteFleet(const etcd::EtcdServer& server, const std::string& value) {
  auto client = std::move(etcd::EtcdClient::Open(server.options()).value());
  etcd::Txn txn;
  txn.then.push_back(etcd::Put{.key = "/fairlock/t/fleet", .value = value});
  ASSERT_EQ(client->Transact(txn, 5s).outcome, etcd::Outcome::kDone);
}

TEST(FleetObserver, AFleetOfAnotherKindIsRefused) {
  for (const std::string& fleet :
       std::vector<std::string>{R"({"partitions":8})", R"({"format":2,"partitions":8})",
                                R"({"format":1,"partitions":65})", "fleet"}) {
    const etcd::EtcdServer server;
    WriteFleet(server, fleet);
    const Node a(server, RecordOf("a", "h1:1"));
    const FleetView view = a.Await([](const FleetView& one) { return !one.refusal.empty(); });
    EXPECT_NE(view.refusal.find("use another cluster_name"), std::string::npos) << view.refusal;
    EXPECT_TRUE(view.nodes.empty());
    EXPECT_FALSE(view.assignment);
  }
}

etcd::EtcdOptions PinnedOptionsOf(const etcd::EtcdServer& server) {
  etcd::EtcdOptions options = server.options();
  options.pin = std::make_shared<etcd::ClusterPin>();
  return options;
}

FleetRecord FleetIn(const etcd::EtcdServer& server) {
  const auto client = std::move(etcd::EtcdClient::Open(server.options()).value());
  const auto found = client->Range({.key = FleetKey("/fairlock/t/")}, 5s);
  return DecodeFleet(found.found.front().value).value();
}

TEST(FleetObserver, TheFleetKnowsItsEtcd) {
  const etcd::EtcdServer server;
  WriteFleet(server, EncodeFleet({.partitions = 3}));  // as an older version does
  const etcd::EtcdOptions options = PinnedOptionsOf(server);
  const Node a(options, RecordOf("a", "h1:1"));
  a.AwaitNodes(1);
  const FleetRecord fleet = FleetIn(server);
  EXPECT_NE(fleet.etcd_cluster, 0U);
  EXPECT_EQ(fleet.etcd_cluster, options.pin->id());
  EXPECT_EQ(fleet.partitions, 3U);
  const Node b(PinnedOptionsOf(server), RecordOf("b", "h2:1"));
  EXPECT_FALSE(b.AwaitNodes(2).is_other_etcd);
}

TEST(FleetObserver, AnotherEtcdIsNoticedByANewNodeUntilAnOperatorAcceptsIt) {
  const etcd::EtcdServer server;
  WriteFleet(server, EncodeFleet({.etcd_cluster = 0xabc}));
  Node a(PinnedOptionsOf(server), RecordOf("a", "h1:1"));
  EXPECT_TRUE(a.AwaitNodes(1).is_other_etcd);
  EXPECT_EQ(FleetIn(server).etcd_cluster, 0xabcU);
  a.AcceptEtcd();
  EXPECT_TRUE(Becomes([&] { return FleetIn(server).etcd_cluster != 0xabcU; }));
  a.Await([](const FleetView& view) { return view.error.empty(); });
}

TEST(FleetObserver, ANodeMayWaitUntilTheFleetIsCreated) {
  const etcd::EtcdServer server;
  auto observer = FleetObserver::Start({.etcd = server.options(),
                                        .prefix = "/fairlock/t/",
                                        .creates_fleet = false,
                                        .round = 50ms,
                                        .now_ms = NowMs,
                                        .describe = [] { return RecordOf("a", "h1:1"); },
                                        .on_view = [] {}});
  ASSERT_TRUE(observer.ok());
  const auto await = [&](auto condition) {
    for (int i = 0; i < 1'000 && !condition(observer.value()->View()); ++i) {
      std::this_thread::sleep_for(10ms);
    }
    return condition(observer.value()->View());
  };
  EXPECT_TRUE(await([](const FleetView& view) {
    return view.error == "the fleet does not exist; create it with `fairlockctl cluster create`";
  }));
  EXPECT_FALSE(observer.value()->View().assignment);
  WriteFleet(server, EncodeFleet({.partitions = 3}));
  EXPECT_TRUE(await([](const FleetView& view) {
    return view.assignment == Assignment{.partition = 0, .partitions = 3};
  }));
}

TEST(FleetObserver, ANodeAloneServesTheOnlyPartition) {
  const etcd::EtcdServer server;
  const Node a(server, RecordOf("a", "h1:1"));
  const FleetView view = a.AwaitNodes(1);
  EXPECT_EQ(view.assignment, (Assignment{.partition = 0, .partitions = 1}));
}

TEST(FleetObserver, NodesThatStartAtOnceShareThePartitions) {
  constexpr std::uint32_t kPartitions = 4;
  const etcd::EtcdServer server;
  WriteFleet(server, EncodeFleet({.partitions = kPartitions}));
  std::vector<std::unique_ptr<Node>> nodes;
  for (std::uint32_t i = 0; i < 2 * kPartitions; ++i) {
    const std::string number = std::to_string(i);
    nodes.push_back(std::make_unique<Node>(server, RecordOf("n" + number, "h:" + number)));
  }
  std::vector<int> members(kPartitions);
  for (const auto& node : nodes) {
    const FleetView view = node->AwaitNodes(nodes.size());
    ASSERT_TRUE(view.assignment);
    ASSERT_EQ(view.assignment->partitions, kPartitions);
    ++members[view.assignment->partition];
  }
  EXPECT_EQ(members, std::vector<int>(kPartitions, 2));
}

TEST(FleetObserver, AFixedPartitionIsKeptAndMustExist) {
  const etcd::EtcdServer server;
  WriteFleet(server, EncodeFleet({.partitions = 2}));
  const Node last(server, RecordOf("a", "h1:1"), 1);
  EXPECT_EQ(last.AwaitNodes(1).assignment, (Assignment{.partition = 1, .partitions = 2}));
  const Node same(server, RecordOf("b", "h2:1"), 1);
  EXPECT_EQ(same.AwaitNodes(2).assignment, (Assignment{.partition = 1, .partitions = 2}));
  const Node none(server, RecordOf("c", "h3:1"), 2);
  EXPECT_EQ(none.Await([](const FleetView& one) { return !one.refusal.empty(); }).refusal,
            "cluster_partition is 2, but the fleet has only the partitions 0 to 1");
}

// Two leaders on one machine see the same imbalance at the same time.
TEST(FleetObserver, OneOfTwoLeadersHandsOverForTheBalance) {
  constexpr std::chrono::milliseconds kBalanceAfter{1'500};
  const etcd::EtcdServer server;
  WriteFleet(server, EncodeFleet({.partitions = 2}));
  const auto start = [&](const std::string& name, const std::string& machine,
                         std::uint32_t partition, bool leads) {
    NodeRecord record = RecordOf(name, name + ":1");
    record.machine = machine;
    record.leads = leads;
    record.epoch = leads ? 1 : 0;
    return std::make_unique<Node>(server.options(), record, 2s, partition, kBalanceAfter);
  };
  const std::vector<std::unique_ptr<Node>> leaders = [&] {
    std::vector<std::unique_ptr<Node>> nodes;
    nodes.push_back(start("a0", "m1", 0, true));
    nodes.push_back(start("a1", "m1", 1, true));
    return nodes;
  }();
  const auto b0 = start("b0", "m2", 0, false);
  const auto b1 = start("b1", "m2", 1, false);
  const auto count = [&] {
    return leaders[0]->Successors().size() + leaders[1]->Successors().size();
  };
  b1->AwaitNodes(4);
  const TimeMs began = NowMs();
  ASSERT_TRUE(Becomes([&] { return count() != 0; }));
  EXPECT_GE(NowMs() - began, kBalanceAfter.count() / 2);
  const std::size_t first = leaders[0]->Successors().empty() ? 1 : 0;
  EXPECT_EQ(leaders[first]->Successors().front(), first == 0 ? "b0" : "b1");
  std::this_thread::sleep_for(kBalanceAfter / 2);
  EXPECT_EQ(count(), 1) << "the other leader waits";

  // Now each machine leads one.
  NodeRecord before = leaders[first]->Record();
  before.leads = false;
  leaders[first]->Change(before);
  Node& next = first == 0 ? *b0 : *b1;
  NodeRecord leader = next.Record();
  leader.leads = true;
  leader.epoch = 2;
  next.Change(leader);
  std::this_thread::sleep_for(2 * kBalanceAfter);
  EXPECT_EQ(count(), 1);
}

TEST(FleetView, TheLeaderOfAPartitionHasTheHighestEpoch) {
  FleetView view;
  NodeRecord old = RecordOf("a", "h1:1");
  old.leads = true;
  old.partition = 1;
  old.epoch = 4;
  NodeRecord now = old;
  now.name = "b";
  now.epoch = 5;
  view.nodes = {now, old, RecordOf("c", "h3:1")};
  EXPECT_EQ(LeaderOf(view.nodes, 1)->name, "b");
  EXPECT_EQ(LeaderOf(view.nodes, 0), nullptr);
}

TEST(FleetObserver, AnOutageOfEtcdIsAnErrorAndPasses) {
  etcd::EtcdServer server;
  const Node a(server, RecordOf("a", "h1:1"));
  a.AwaitNodes(1);
  server.member(0).Kill();
  const FleetView view = a.Await([](const FleetView& one) { return !one.error.empty(); });
  EXPECT_EQ(view.nodes.size(), 1) << "the last list is kept";
  server.member(0).Start();
  a.Await([](const FleetView& one) { return one.error.empty() && one.nodes.size() == 1; });
}

}  // namespace
}  // namespace fairlock::storage::replicated
