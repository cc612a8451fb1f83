#include "server/command/handlers/replication.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/command/command_test_support.h"
#include "tests/unit/server/command/fake_fleet_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;
using testing::Not;

class ReplicationTest : public testing::Test {
 protected:
  void JoinFleet(std::string_view leader) {
    fleet_.SetLeader(leader);
    server_.parts().environment.fleet = &fleet_;
  }

  FakeFleet fleet_;
  TestServer server_;
  TestClient& client_ = server_.Connect();
};

TEST_F(ReplicationTest, ASingleServerIsAMasterWithoutReplicas) {
  EXPECT_EQ(client_.Say("ROLE"), R"(["master" 0 []])");
  EXPECT_EQ(client_.Say("INFO replication"),
            "\"# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\"");
  EXPECT_EQ(client_.Say("INFO cluster"), "\"# Cluster\r\ncluster_enabled:0\r\n\"");
  EXPECT_EQ(client_.Say("WAIT 1 100"), "0");
  EXPECT_EQ(client_.Say("WAITAOF 1 1 100"), "[0 0]");
  EXPECT_THAT(client_.Say("HELLO 3"), HasSubstr(R"("role" "master")"));
}

// Redisson gives up a lock if INFO shows replicas, and none of them has it.
TEST_F(ReplicationTest, EachStandbyCountsAsAReplicaThatHasAllChanges) {
  JoinFleet("lock1");
  EXPECT_EQ(client_.Say("WAIT 2 100"), "2");
  EXPECT_EQ(client_.Say("WAITAOF 1 2 100"), "[1 2]");
  fleet_.report.nodes.resize(1);
  EXPECT_EQ(client_.Say("WAIT 2 100"), "0");
  EXPECT_EQ(client_.Say("WAITAOF 1 2 100"), "[1 0]");
}

TEST_F(ReplicationTest, TheLeaderIsAMasterAndTheStandbysAreItsReplicas) {
  JoinFleet("lock1");
  EXPECT_EQ(client_.Say("ROLE"),
            R"(["master" 100 [["lock2.example" "3247" "98"] ["10.0.0.3" "3250" "100"]]])");
  EXPECT_EQ(client_.Say("INFO replication"),
            "\"# Replication\r\nrole:master\r\nconnected_slaves:2\r\n"
            "slave0:ip=lock2.example,port=3247,state=online,offset=98,lag=2\r\n"
            "slave1:ip=10.0.0.3,port=3250,state=wait_bgsave,offset=100,lag=2\r\n"
            "master_repl_offset:100\r\n\"");
  EXPECT_THAT(client_.Say("HELLO 3"), HasSubstr(R"("role" "master")"));
}

TEST_F(ReplicationTest, AStandbyThatIsFurtherBehindThanTheLeaderHasWrittenIsAtZero) {
  JoinFleet("lock1");
  fleet_.report.nodes[1].frames_behind = 101;
  EXPECT_THAT(client_.Say("ROLE"), HasSubstr(R"(["lock2.example" "3247" "0"])"));
}

TEST_F(ReplicationTest, AStandbyIsAReplicaOfTheLeader) {
  JoinFleet("lock2");
  EXPECT_EQ(client_.Say("ROLE"), R"(["slave" "lock2.example" 3247 "connected" 0])");
  const std::string info = client_.Say("INFO replication");
  EXPECT_THAT(info, HasSubstr("# Replication\r\nrole:slave\r\nmaster_host:lock2.example\r\n"
                              "master_port:3247\r\nmaster_link_status:up\r\n"));
  EXPECT_THAT(info, HasSubstr("\r\nslave_read_only:1\r\n"));
  EXPECT_THAT(info, Not(HasSubstr("slave0")));
  EXPECT_THAT(client_.Say("HELLO 3"), HasSubstr(R"("role" "replica")"));
}

TEST_F(ReplicationTest, WithoutALeaderTheLinkIsDown) {
  JoinFleet("");
  EXPECT_EQ(client_.Say("ROLE"), R"(["slave" "" 0 "connect" 0])");
  EXPECT_THAT(client_.Say("INFO replication"), HasSubstr("\r\nmaster_link_status:down\r\n"));
}

TEST_F(ReplicationTest, TheFleetIsNamedBesideTheCluster) {
  JoinFleet("lock2");
  EXPECT_EQ(client_.Say("INFO cluster"),
            "\"# Cluster\r\ncluster_enabled:0\r\nfleet_name:main\r\nfleet_node:lock1\r\n"
            "fleet_leader:lock2\r\nfleet_epoch:7\r\n\"");
}

TEST_F(ReplicationTest, ALogInWithHelloNamesTheRoleToo) {
  JoinFleet("lock2");
  server_.SetUsers("user default on >secret ~* &* owner:* +@all");
  EXPECT_THAT(server_.Connect().Say("HELLO 3 AUTH default secret"),
              HasSubstr(R"("role" "replica")"));
}

}  // namespace
}  // namespace fairlock::command
