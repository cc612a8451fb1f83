// Requests to a node of a fleet of three partitions.
#include "server/command/cluster/key_routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/command/cluster/slots.h"
#include "tests/unit/server/command/command_test_support.h"
#include "tests/unit/server/command/fake_fleet_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint32_t kPartitions = 3;

FleetNode NodeOf(const std::string& name, std::uint32_t partition, FleetRole role) {
  FleetNode node;
  node.name = name;
  node.host = name + ".example";
  node.port = 3247;
  node.partition = partition;
  node.role = role;
  node.epoch = role == FleetRole::kLeader ? 5 + partition : 0;
  node.is_in_sync = true;
  return node;
}

// A key of the partition.
std::string KeyOf(std::uint32_t partition) {
  std::string key = "a";
  while (PartitionOf(SlotOf(key), kPartitions) != partition) ++key[0];
  return key;
}

class KeyRoutingTest : public testing::Test {
 protected:
  KeyRoutingTest() : client_(server_.Connect()) {
    fleet_.report.node = "a0";
    fleet_.report.dialect = FleetDialect::kCluster;
    fleet_.report.partitions = kPartitions;
    fleet_.report.role = FleetRole::kLeader;
    fleet_.report.leader = "a0";
    fleet_.report.epoch = 5;
    fleet_.report.nodes = {
        NodeOf("a0", 0, FleetRole::kLeader),  NodeOf("a1", 1, FleetRole::kStandby),
        NodeOf("b0", 0, FleetRole::kStandby), NodeOf("b1", 1, FleetRole::kLeader),
        NodeOf("b2", 2, FleetRole::kStandby),
    };
    server_.parts().environment.fleet = &fleet_;
    server_.parts().ServePartition(0, kPartitions);
  }

  void StandBy() {
    fleet_.report.role = FleetRole::kStandby;
    fleet_.report.nodes[0].role = FleetRole::kStandby;
    fleet_.report.nodes[2].role = FleetRole::kLeader;
    fleet_.report.leader = "b0";
    server_.parts().availability.set_service(Service::kClusterDown);
  }
  std::string MovedTo(std::string_view key, std::string_view address) const {
    return "-MOVED " + std::to_string(SlotOf(key)) + " " + std::string(address);
  }

  TestServer server_;
  FakeFleet fleet_;
  TestClient& client_;
};

TEST_F(KeyRoutingTest, OwnKeysAreServed) {
  EXPECT_THAT(client_.Say("LOCK " + KeyOf(0) + " w"), testing::MatchesRegex("[0-9]+"));
  EXPECT_EQ(client_.Say("UNLOCK " + KeyOf(0) + " w"), "1");
}

TEST_F(KeyRoutingTest, OtherKeysAreAtTheirLeader) {
  const std::string key = KeyOf(1);
  for (const std::string& line : std::vector<std::string>{
           "LOCK " + key + " w", "UNLOCK " + key + " w", "RENEW " + key + " w", "LOCKINFO " + key,
           "SET " + key + " v NX PX 1000", "GET " + key, "WATCH " + key, "SPUBLISH " + key + " m",
           "SSUBSCRIBE " + key, "EVAL 'return 1' 1 " + key, "MLOCK 1 " + key + " w"}) {
    EXPECT_EQ(client_.Say(line), MovedTo(key, "b1.example:3247")) << line;
  }
  EXPECT_EQ(client_.Say("CHECK " + KeyOf(2) + " 1"),
            "-CLUSTERDOWN no node leads partition 2, which has slot " +
                std::to_string(SlotOf(KeyOf(2))) + "; try again in a moment");
}

// The node that executes the request logs it.
TEST_F(KeyRoutingTest, ARequestOfAnotherNodeLeavesNoLineOfTheAudit) {
  const std::vector<std::string>& lines = server_.environment().audit;
  EXPECT_THAT(client_.Say("BREAK " + KeyOf(1)), StartsWith("-MOVED"));
  EXPECT_THAT(client_.Say("BREAK " + KeyOf(2)), StartsWith("-CLUSTERDOWN"));
  client_.Say("MULTI");
  EXPECT_THAT(client_.Say("BREAK " + KeyOf(1)), StartsWith("-MOVED"));
  client_.Say("DISCARD");
  EXPECT_THAT(lines, testing::IsEmpty());
  client_.Say("BREAK " + KeyOf(0));
  EXPECT_THAT(lines, testing::SizeIs(1));
  StandBy();
  EXPECT_THAT(client_.Say("BREAK " + KeyOf(0)), StartsWith("-MOVED"));
  EXPECT_THAT(client_.Say("FLUSHALL"), StartsWith("-CLUSTERDOWN"));
  EXPECT_THAT(lines, testing::SizeIs(1));
}

TEST_F(KeyRoutingTest, AClientWithTlsIsSentToTheTlsPort) {
  fleet_.report.nodes[3].tls_port = 3250;
  const std::string key = KeyOf(1);
  EXPECT_EQ(client_.Say("GET " + key), MovedTo(key, "b1.example:3247"));
  fleet_.report.nodes[3].port = 0;
  EXPECT_EQ(client_.Say("GET " + key), MovedTo(key, "b1.example:3250"));
}

// The partition has one standby.
TEST_F(KeyRoutingTest, AWaitForReplicasHasNoKey) {
  for (int replicas = 0; replicas < 10; ++replicas) {
    EXPECT_EQ(client_.Say("WAIT " + std::to_string(replicas) + " 100"), "1");
  }
  EXPECT_EQ(client_.Say("WAIT " + KeyOf(1) + " TIMEOUT 1s"), MovedTo(KeyOf(1), "b1.example:3247"));
}

TEST_F(KeyRoutingTest, AStandbyNamesTheLeaderOfItsPartition) {
  StandBy();
  EXPECT_EQ(client_.Say("LOCK " + KeyOf(0) + " w"), MovedTo(KeyOf(0), "b0.example:3247"));
  EXPECT_EQ(client_.Say("LOCK " + KeyOf(1) + " w"), MovedTo(KeyOf(1), "b1.example:3247"));
  EXPECT_EQ(client_.Say("READONLY"), "OK");
  EXPECT_EQ(client_.Say("GET " + KeyOf(0)), MovedTo(KeyOf(0), "b0.example:3247"))
      << "a standby serves no reads";
  fleet_.report.nodes[2].role = FleetRole::kStandby;
  EXPECT_THAT(client_.Say("LOCK " + KeyOf(0) + " w"), StartsWith("-CLUSTERDOWN"));
}

TEST_F(KeyRoutingTest, TheHistoryOfAllKeysIsThatOfTheNode) {
  fleet_.report.nodes[0].role = FleetRole::kStandby;
  fleet_.report.nodes[2].role = FleetRole::kLeader;
  server_.parts().ServePartition(2, kPartitions);
  ASSERT_EQ(PartitionOf(SlotOf("*"), kPartitions), 0U);
  EXPECT_EQ(client_.Say("GET *"), MovedTo("*", "b0.example:3247"));
  EXPECT_THAT(client_.Say("HISTORY *"), HasSubstr("events"));
  EXPECT_EQ(client_.Say("HISTORY " + KeyOf(0)), MovedTo(KeyOf(0), "b0.example:3247"));
}

TEST_F(KeyRoutingTest, AnUnsureLeaderSendsNobodyAway) {
  server_.parts().availability.set_service(Service::kClusterDown);
  EXPECT_THAT(client_.Say("LOCK " + KeyOf(0) + " w"), StartsWith("-CLUSTERDOWN"));
  server_.parts().availability.set_service(Service::kLoading);
  EXPECT_THAT(client_.Say("LOCK " + KeyOf(0) + " w"), StartsWith("-LOADING"));
}

TEST_F(KeyRoutingTest, TheKeysOfARequestShareASlot) {
  constexpr std::string_view kCrossSlot = "-CROSSSLOT Keys in request don't hash to the same slot";
  EXPECT_EQ(client_.Say("MLOCK 2 a b w"), kCrossSlot);
  EXPECT_EQ(client_.Say("MGET a b"), kCrossSlot);
  EXPECT_EQ(client_.Say("DEL a b"), kCrossSlot);
  EXPECT_EQ(client_.Say("SSUBSCRIBE a b"), kCrossSlot);
  const std::string tag = "{" + KeyOf(0) + "}";
  EXPECT_THAT(client_.Say("MLOCK 2 x" + tag + " y" + tag + " w"), testing::MatchesRegex("[0-9]+"));
}

TEST_F(KeyRoutingTest, AChannelOfNotifyHasTheSlotOfTheKey) {
  const std::string own = KeyOf(0);
  const std::string channel = "{" + own + "}done";
  TestClient& waiter = server_.Connect();
  client_.Say("LOCK " + own + " w");
  EXPECT_THAT(waiter.Say("LOCK " + own + " x NOTIFY done"),
              StartsWith("-CROSSSLOT NOTIFY: channel 'done' does not have the key's hash slot"));
  EXPECT_THAT(waiter.Say("MLOCK 1 " + own + " x NOTIFY done"), StartsWith("-CROSSSLOT NOTIFY:"));
  EXPECT_THAT(waiter.Say("LOCK " + own + " x NOTIFY " + channel), HasSubstr("has no subscriber"));
  TestClient& listener = server_.Connect();
  listener.Say("SSUBSCRIBE " + channel);
  EXPECT_EQ(waiter.Say("LOCK " + own + " x NOTIFY " + channel), "nil");
  client_.Say("UNLOCK " + own + " w");
  EXPECT_THAT(listener.Hear(), testing::AllOf(StartsWith("[\"smessage\" \"" + channel + "\""),
                                              HasSubstr("granted")));
}

TEST_F(KeyRoutingTest, SubscribersOfBothKindsKeepAPlace) {
  const std::string own = KeyOf(0);
  const std::string channel = "{" + own + "}done";
  TestClient& waiter = server_.Connect();
  TestClient& exact = server_.Connect();
  TestClient& shard = server_.Connect();
  client_.Say("LOCK " + own + " w EX 600");
  exact.Say("SUBSCRIBE " + channel);
  shard.Say("SSUBSCRIBE " + channel);
  EXPECT_EQ(waiter.Say("LOCK " + own + " x NOTIFY " + channel), "nil");
  exact.Close();
  EXPECT_THAT(client_.Say("QUEUE " + own), HasSubstr("\"state\" \"waiting\""));
  shard.Say("SUNSUBSCRIBE " + channel);
  EXPECT_THAT(client_.Say("QUEUE " + own), HasSubstr("\"state\" \"absent\""));
  shard.Say("SSUBSCRIBE " + channel);
  EXPECT_THAT(client_.Say("QUEUE " + own), HasSubstr("\"state\" \"waiting\""));
  client_.Say("UNLOCK " + own + " w");
  EXPECT_THAT(shard.Hear(), HasSubstr("granted"));
  EXPECT_THAT(client_.Say("LOCKINFO " + own), HasSubstr("\"x\""));
}

TEST_F(KeyRoutingTest, AScriptUsesOnlyTheSlotOfItsKeys) {
  const std::string own = KeyOf(0);
  const auto eval = [&](std::string_view script, std::initializer_list<std::string_view> rest) {
    std::string bytes = "*" + std::to_string(2 + rest.size()) + "\r\n$4\r\nEVAL\r\n$" +
                        std::to_string(script.size()) + "\r\n" + std::string(script) + "\r\n";
    for (const std::string_view word : rest) {
      bytes += "$" + std::to_string(word.size()) + "\r\n" + std::string(word) + "\r\n";
    }
    return client_.SendBytes(bytes);
  };
  EXPECT_EQ(eval("return redis.call('set', KEYS[1], 'v', 'NX', 'PX', 1000)", {"1", own}),
            "+OK\r\n");
  EXPECT_EQ(eval("return redis.call('get', '{' .. KEYS[1] .. '}x')", {"1", own}), "$-1\r\n");
  EXPECT_THAT(eval("return redis.call('get', ARGV[1])", {"1", own, KeyOf(1)}),
              HasSubstr("not that of its declared keys"));
  EXPECT_THAT(eval("return redis.call('get', ARGV[1])", {"0", own}),
              HasSubstr("not that of its declared keys"));
  EXPECT_EQ(eval("return redis.call('ping')", {"0"}), "+PONG\r\n");
}

TEST_F(KeyRoutingTest, ATransactionHasOneSlot) {
  const std::string own = KeyOf(0);
  client_.Say("MULTI");
  EXPECT_EQ(client_.Say("GET " + own), "QUEUED");
  EXPECT_EQ(client_.Say("PING"), "QUEUED");
  EXPECT_EQ(client_.Say("GET {" + own + "}2"), "QUEUED");
  EXPECT_EQ(client_.Say("EXEC"), "[nil PONG nil]");
  client_.Say("MULTI");
  EXPECT_EQ(client_.Say("GET " + KeyOf(1)), MovedTo(KeyOf(1), "b1.example:3247"));
  EXPECT_THAT(client_.Say("EXEC"), StartsWith("-EXECABORT"));
  std::string other = own;
  do {
    other += "x";
  } while (PartitionOf(SlotOf(other), kPartitions) != 0);
  client_.Say("MULTI");
  EXPECT_EQ(client_.Say("GET " + own), "QUEUED");
  EXPECT_EQ(client_.Say("GET " + other), "QUEUED");
  EXPECT_THAT(client_.Say("EXEC"), StartsWith("-CROSSSLOT"));
  EXPECT_EQ(client_.Say("EXEC"), "-ERR EXEC without MULTI");
}

TEST_F(KeyRoutingTest, TheFleetIsDescribedAsARedisCluster) {
  const std::string a0 = NodeId("main", "a0");
  const std::string b0 = NodeId("main", "b0");
  EXPECT_EQ(a0.size(), 40);
  EXPECT_THAT(client_.Say("CLUSTER SLOTS"),
              StartsWith("[[0 5460 [\"a0.example\" 3247 \"" + a0 +
                         "\" []] [\"b0.example\" 3247 \"" + b0 + "\" []]] [5461 10921 "));
  EXPECT_THAT(client_.Say("CLUSTER SLOTS"), testing::Not(HasSubstr("10922")))
      << "a partition without a leader is not listed";
  EXPECT_THAT(client_.Say("CLUSTER NODES"),
              HasSubstr(a0 + " a0.example:3247@3247 myself,master - 0 0 5 connected 0-5460\n" + b0 +
                        " b0.example:3247@3247 slave " + a0 + " 0 0 5 connected\n"));
  EXPECT_THAT(client_.Say("CLUSTER NODES"), HasSubstr("slave - 0 0 0 connected"));
  EXPECT_THAT(
      client_.Say("CLUSTER INFO"),
      testing::AllOf(HasSubstr("cluster_state:fail"), HasSubstr("cluster_size:3"),
                     HasSubstr("cluster_slots_fail:5462"), HasSubstr("cluster_current_epoch:6")));
  EXPECT_EQ(client_.Say("CLUSTER MYID"), "\"" + a0 + "\"");
  EXPECT_THAT(client_.Say("CLUSTER REPLICAS " + a0), HasSubstr(b0));
  EXPECT_EQ(client_.Say("CLUSTER REPLICAS " + b0), "-ERR The specified node is not a master");
  EXPECT_EQ(client_.Say("CLUSTER REPLICAS x"), "-ERR Unknown node x");
  EXPECT_THAT(client_.Say("INFO cluster"), HasSubstr("cluster_enabled:1"));
  EXPECT_THAT(client_.Say("HELLO 3"), HasSubstr("\"mode\" \"cluster\""));
}

TEST_F(KeyRoutingTest, KeysAreFoundByTheirSlot) {
  const std::string tag = "{" + KeyOf(0) + "}";
  const std::string slot = std::to_string(SlotOf(tag));
  client_.Say("LOCK 1" + tag + " w");
  client_.Say("LOCK 2" + tag + " w");
  EXPECT_EQ(client_.Say("CLUSTER KEYSLOT " + tag), slot);
  EXPECT_EQ(client_.Say("CLUSTER COUNTKEYSINSLOT " + slot), "2");
  EXPECT_EQ(client_.Say("CLUSTER COUNTKEYSINSLOT 16383"), "0");
  EXPECT_EQ(client_.Say("CLUSTER COUNTKEYSINSLOT 16384"), "-ERR Invalid slot");
  EXPECT_THAT(client_.Say("CLUSTER GETKEYSINSLOT " + slot + " 1"), HasSubstr(tag + "\"]"));
  EXPECT_EQ(client_.Say("CLUSTER GETKEYSINSLOT " + slot + " 0"), "[]");
  EXPECT_EQ(client_.Say("CLUSTER GETKEYSINSLOT " + slot + " -1"),
            "-ERR Invalid slot or number of keys");
}

TEST_F(KeyRoutingTest, ShapingIsRefusedWithAHint) {
  for (const std::string_view line :
       {"CLUSTER ADDSLOTS 1", "CLUSTER MEET 10.0.0.1 3247", "CLUSTER RESET HARD",
        "CLUSTER SETSLOT 1 STABLE", "CLUSTER REPLICATE x", "CLUSTER FLUSHSLOTS"}) {
    EXPECT_THAT(client_.Say(line), StartsWith("-ERR a fleet assigns nodes and slots by itself"));
  }
}

TEST_F(KeyRoutingTest, InTheDialectPlainEveryKeyIsServed) {
  TestServer plain;
  plain.parts().environment.fleet = &fleet_;
  fleet_.report.dialect = FleetDialect::kPlain;
  TestClient& client = plain.Connect();
  EXPECT_THAT(client.Say("MLOCK 2 a b w"), testing::MatchesRegex("[0-9]+"));
  for (const std::string_view line : {"CLUSTER SLOTS", "CLUSTER KEYSLOT a", "READONLY", "ASKING",
                                      "CLUSTER RESET", "CLUSTER COUNTKEYSINSLOT 1"}) {
    EXPECT_EQ(client.Say(line), "-ERR This instance has cluster support disabled") << line;
  }
}

}  // namespace
}  // namespace fairlock::command
