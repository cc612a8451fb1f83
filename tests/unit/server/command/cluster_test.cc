// CLUSTER on a node of a fleet, and on a server that belongs to no fleet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/command/locks/availability.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class ReportingFleet final : public Fleet {
 public:
  FleetReport Report() const override { return report; }
  std::optional<PartitionLeader> LeaderOf(std::uint32_t) const override { return std::nullopt; }
  FailOverStart StartFailOver(const FailOverRequest& request) override {
    fail_overs.push_back(std::string(request.to) + (request.is_forced ? "!" : ""));
    return {.error = refusal, .may_succeed_soon = may_succeed_soon};
  }
  std::string AcceptRestore() override {
    ++accepted;
    return refusal;
  }

  FleetReport report;
  std::string refusal;
  bool may_succeed_soon = false;
  std::vector<std::string> fail_overs;
  int accepted = 0;
};

FleetNode Leader() {
  FleetNode node;
  node.name = "lock1";
  node.host = "10.0.0.1";
  node.port = 3247;
  node.version = "0.1.0";
  node.options = "restart_grace=30s";
  node.role = FleetRole::kLeader;
  node.is_in_sync = true;
  node.started_unix_ms = 1'699'999'990'000;
  return node;
}

FleetNode LaggingStandby() {
  FleetNode node;
  node.name = "lock2";
  node.host = "fd00::2";
  node.port = 3247;
  node.tls_port = 3248;
  node.sentinel_port = 3249;
  node.version = "0.1.0";
  node.frames_behind = 3;
  node.is_unreached = true;
  node.started_unix_ms = 1'699'999'995'000;
  return node;
}

std::vector<EtcdMember> Members() {
  std::vector<EtcdMember> members(2);
  members[0].endpoint = "http://10.0.1.1:2379";
  members[0].version = "3.5.28";
  members[0].is_leader = true;
  members[0].size_bytes = 4096;
  members[0].size_in_use_bytes = 1024;
  members[1].endpoint = "http://10.0.1.2:2379";
  members[1].error = "deadline exceeded";
  return members;
}

FleetReport Led() {
  FleetReport report;
  report.fleet = "main";
  report.node = "lock1";
  report.partitions = 1;
  report.role = FleetRole::kLeader;
  report.epoch = 7;
  report.leader = "lock1";
  report.leader_host = "10.0.0.1";
  report.leader_port = 3247;
  report.leads_since_unix_ms = 1'700'000'000'000;
  report.age_ms = 40;
  report.quota_bytes = 2'147'483'648;
  report.commits = 11;
  report.commits_us = 12'000;
  report.committed_bytes = 13;
  report.nodes = {Leader(), LaggingStandby()};
  report.etcd = Members();
  return report;
}

class ClusterCommands : public testing::Test {
 protected:
  ClusterCommands() : client_(server_.Connect()) {
    fleet_.report = Led();
    server_.parts().environment.fleet = &fleet_;
  }

  TestServer server_;
  ReportingFleet fleet_;
  TestClient& client_;
};

TEST_F(ClusterCommands, StatusIsAMapOfAllThatTheNodeKnows) {
  client_.Say("HELLO 3");
  EXPECT_EQ(
      client_.Say("CLUSTER STATUS"),
      R"({"fleet" "main" "node" "lock1" "dialect" "plain" "partition" 0 "partitions" 1 )"
      R"("role" "leader" "epoch" 7 "leader" "lock1" )"
      R"("leader_address" "10.0.0.1:3247" "leader_since" 1700000000000 "awaits_acceptance" 0 )"
      R"("unsure" 0 "age_ms" 40 "error" nil "commits" 11 "commits_us" 12000 )"
      R"("committed_bytes" 13 "quota_bytes" 2147483648 "short_of_quota" 0 "no_space" 0 )"
      R"("nodes" [{"name" "lock1" "address" "10.0.0.1:3247" "tls_port" 0 "sentinel_port" 0 )"
      R"("version" "0.1.0" "partition" 0 "role" "leader" "in_sync" 1 "frames_behind" 0 )"
      R"("started_at" 1699999990000 "options" "restart_grace=30s" "unreachable" 0 )"
      R"("refused_etcd" ""} )"
      R"({"name" "lock2" "address" "[fd00::2]:3247" "tls_port" 3248 "sentinel_port" 3249 )"
      R"("version" "0.1.0" "partition" 0 "role" "standby" "in_sync" 0 "frames_behind" 3 )"
      R"("started_at" 1699999995000 "options" "" "unreachable" 1 "refused_etcd" ""}] )"
      R"("etcd" [{"endpoint" "http://10.0.1.1:2379" "error" nil "version" "3.5.28" "leader" 1 )"
      R"("size_bytes" 4096 "size_in_use_bytes" 1024} )"
      R"({"endpoint" "http://10.0.1.2:2379" "error" "deadline exceeded" "version" nil )"
      R"("leader" 0 "size_bytes" 0 "size_in_use_bytes" 0}] )"
      R"("last_leader" nil "leader_heard_ms" nil})");
}

TEST_F(ClusterCommands, StatusIsAFlatArrayInResp2) {
  EXPECT_THAT(client_.Send("CLUSTER STATUS"), StartsWith("*48\r\n$5\r\nfleet\r\n$4\r\nmain\r\n"));
}

TEST_F(ClusterCommands, StatusShowsTroubleAndWhatIsUnknown) {
  fleet_.report = {};
  fleet_.report.fleet = "main";
  fleet_.report.node = "lock2";
  fleet_.report.awaits_acceptance = true;
  fleet_.report.error = "etcd does not answer";
  fleet_.report.is_short_of_quota = true;
  fleet_.report.has_no_space = true;
  fleet_.report.is_unsure = true;
  fleet_.report.last_leader = "lock1";
  fleet_.report.leader_heard_ms = 84'000;
  client_.Say("HELLO 3");
  EXPECT_EQ(client_.Say("cluster status"),
            R"({"fleet" "main" "node" "lock2" "dialect" "plain" "partition" nil "partitions" 0 )"
            R"("role" "standby" "epoch" 0 "leader" nil )"
            R"("leader_address" nil "leader_since" nil "awaits_acceptance" 1 "unsure" 1 )"
            R"("age_ms" nil "error" "etcd does not answer" "commits" 0 "commits_us" 0 )"
            R"("committed_bytes" 0 "quota_bytes" 0 "short_of_quota" 1 "no_space" 1 "nodes" [] )"
            R"("etcd" [] "last_leader" "lock1" "leader_heard_ms" 84000})");
}

TEST_F(ClusterCommands, FailoverBeginsAHandOver) {
  EXPECT_EQ(client_.Say("CLUSTER FAILOVER"), "OK");
  EXPECT_EQ(client_.Say("CLUSTER FAILOVER to lock2"), "OK");
  EXPECT_EQ(client_.Say("CLUSTER FAILOVER FORCE"), "OK");
  EXPECT_EQ(client_.Say("CLUSTER FAILOVER TO lock2 force"), "OK");
  EXPECT_THAT(fleet_.fail_overs, ElementsAre("", "lock2", "!", "lock2!"));
  fleet_.refusal = "no standby exists";
  EXPECT_EQ(client_.Say("CLUSTER FAILOVER"), "-ERR no hand-over was started: no standby exists");
  fleet_.may_succeed_soon = true;
  EXPECT_EQ(client_.Say("CLUSTER FAILOVER"),
            "-TRYAGAIN no hand-over was started: no standby exists");
}

TEST_F(ClusterCommands, FailoverRefusesWhatItDoesNotUnderstand) {
  EXPECT_THAT(client_.Say("CLUSTER FAILOVER now"), StartsWith("-ERR "));
  EXPECT_THAT(client_.Say("CLUSTER FAILOVER FORCE TO lock2"), StartsWith("-ERR "));
  EXPECT_THAT(client_.Say("CLUSTER FAILOVER TO"), StartsWith("-ERR "));
  EXPECT_THAT(client_.Say({"CLUSTER", "FAILOVER", "TO", ""}),
              StartsWith("-ERR TO must be the name of a node"));
  EXPECT_THAT(client_.Say("CLUSTER FAILOVER TO lock2 now"), StartsWith("-ERR "));
  EXPECT_THAT(fleet_.fail_overs, IsEmpty());
}

TEST_F(ClusterCommands, FailoverNamesTheLeaderOnAStandby) {
  fleet_.report.role = FleetRole::kStandby;
  fleet_.report.leader = "lock3";
  EXPECT_EQ(client_.Say("CLUSTER FAILOVER"),
            "-CLUSTERDOWN this node is a standby and cannot hand over; ask lock3 at "
            "10.0.0.1:3247");
  fleet_.report.leader = "";
  EXPECT_EQ(
      client_.Say("CLUSTER FAILOVER"),
      "-CLUSTERDOWN this node is a standby and cannot hand over; no node leads at the moment");
  EXPECT_THAT(fleet_.fail_overs, IsEmpty());
}

TEST_F(ClusterCommands, AcceptRestorePassesTheDecisionOn) {
  EXPECT_EQ(client_.Say("CLUSTER ACCEPT-RESTORE"), "OK");
  EXPECT_EQ(fleet_.accepted, 1);
  fleet_.refusal = "no restore awaits acceptance";
  EXPECT_EQ(client_.Say("CLUSTER ACCEPT-RESTORE"),
            "-ERR nothing was accepted: no restore awaits acceptance");
}

TEST_F(ClusterCommands, WorkWhileLockCommandsAreRefused) {
  for (const Service service : {Service::kClusterDown, Service::kLoading, Service::kFailed}) {
    server_.parts().availability.set_service(service);
    EXPECT_THAT(client_.Say("LOCK k a"), StartsWith("-"));
    EXPECT_THAT(client_.Say("CLUSTER STATUS"), HasSubstr("\"lock1\""));
    EXPECT_EQ(client_.Say("CLUSTER FAILOVER"), "OK");
    EXPECT_EQ(client_.Say("CLUSTER ACCEPT-RESTORE"), "OK");
  }
}

TEST_F(ClusterCommands, OnASingleServerNameTheOption) {
  server_.parts().environment.fleet = nullptr;
  for (const std::string_view line : {"CLUSTER STATUS", "CLUSTER FAILOVER",
                                      "CLUSTER FAILOVER TO lock2", "CLUSTER ACCEPT-RESTORE"}) {
    EXPECT_EQ(client_.Say(line),
              "-ERR this server is not a node of a fleet; the option cluster_etcd makes it one")
        << line;
  }
}

TEST_F(ClusterCommands, AMisspelledSubcommandIsNotTakenForOneOfRedisCluster) {
  EXPECT_EQ(client_.Say("CLUSTER STATSU"),
            "-ERR unknown subcommand 'STATSU'. Try CLUSTER HELP. Did you mean CLUSTER STATUS?");
  EXPECT_THAT(client_.Say("CLUSTER HELP"), HasSubstr("ACCEPT-RESTORE"));
}

TEST_F(ClusterCommands, APermissionToLookIsNoneToDirect) {
  server_.SetUsers(
      "user default on nopass ~* +@all\n"
      "user watcher on >w ~* -@all +info +cluster|status\n");
  EXPECT_EQ(client_.Say("AUTH watcher w"), "OK");
  EXPECT_THAT(client_.Say("CLUSTER STATUS"), HasSubstr("\"lock1\""));
  EXPECT_THAT(client_.Say("CLUSTER FAILOVER"), StartsWith("-NOPERM"));
  EXPECT_THAT(client_.Say("CLUSTER ACCEPT-RESTORE"), StartsWith("-NOPERM"));
  EXPECT_THAT(client_.Say("CLUSTER SLOTS"), StartsWith("-NOPERM"));
  EXPECT_THAT(fleet_.fail_overs, IsEmpty());
}

}  // namespace
}  // namespace fairlock::command
