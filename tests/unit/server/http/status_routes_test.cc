#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>

#include "server/http/api.h"
#include "server/http/command_caller.h"
#include "server/http/minute_figures.h"
#include "tests/unit/server/command/command_test_support.h"
#include "tests/unit/server/command/fake_fleet_test_support.h"

namespace fairlock::http {
namespace {

class StatusRoutesTest : public testing::Test {
 protected:
  ~StatusRoutesTest() override { caller_.Detach(server_.now()); }

  void JoinFleet(std::string_view leader) {
    fleet_.SetLeader(leader);
    server_.parts().environment.fleet = &fleet_;
    const bool leads = leader == fleet_.report.node;
    server_.parts().availability.set_service(leads ? command::Service::kWorking
                                                   : command::Service::kClusterDown);
  }

  // Returns the status and the body.
  std::string Get(std::string target) {
    Request request;
    request.target = std::move(target);
    request.host = "127.0.0.1";
    request.verb = Verb::kGet;
    const Outcome outcome = api_.Take(request, caller_, false, server_.now());
    const Answer& answer = std::get<Answer>(outcome);
    return std::to_string(answer.status) + " " + answer.body;
  }

  command::FakeFleet fleet_;
  command::TestServer server_;
  Figures figures_;
  Api api_{{}, {}, figures_};
  CommandCaller caller_{server_.parts(), {"127.0.0.1:40000", "127.0.0.1:3248", 9}, 1, [] {}};
};

TEST_F(StatusRoutesTest, ASingleServerIsLeaderAndReady) {
  EXPECT_EQ(Get("/leaderz"), "200 leader\n");
  EXPECT_EQ(Get("/readyz"), "200 ready\n");
}

TEST_F(StatusRoutesTest, ASingleServerThatLoadsIsLeaderButNotReady) {
  server_.parts().availability.set_service(command::Service::kLoading);
  EXPECT_EQ(Get("/leaderz"), "200 leader\n");
  EXPECT_EQ(Get("/readyz"), "503 LOADING fairlock is loading its locks; try again soon\n");
}

TEST_F(StatusRoutesTest, TheLeaderIsReadyUnlessItIsUnsure) {
  JoinFleet("lock1");
  EXPECT_EQ(Get("/leaderz"), "200 leader\n");
  EXPECT_EQ(Get("/readyz"), "200 ready\n");
  fleet_.report.is_unsure = true;
  fleet_.report.leader_heard_ms = 7'900;
  EXPECT_EQ(Get("/leaderz"), "503 etcd has not confirmed for 7 s that this node leads\n");
  EXPECT_EQ(Get("/readyz"), "503 etcd has not confirmed for 7 s that this node leads\n");
}

TEST_F(StatusRoutesTest, AStandbyNamesTheLeader) {
  JoinFleet("lock2");
  EXPECT_EQ(Get("/leaderz"), "503 standby; lock2 at lock2.example:3247 leads\n");
  JoinFleet("");
  EXPECT_EQ(Get("/leaderz"), "503 standby; no node leads, as far as this node knows\n");
  fleet_.report.last_leader = "lock3";
  fleet_.report.leader_heard_ms = 84'000;
  EXPECT_EQ(
      Get("/leaderz"),
      "503 standby; no node leads, as far as this node knows; lock3 did, and was heard of 84 s "
      "ago\n");
  fleet_.report.awaits_acceptance = true;
  EXPECT_EQ(Get("/leaderz"),
            "503 standby; etcd was restored from a backup, and no node leads until an operator "
            "accepts that\n");
}

TEST_F(StatusRoutesTest, AStandbyIsReadyIfItRelaysToALeader) {
  JoinFleet("lock2");
  EXPECT_EQ(Get("/readyz").substr(0, 16), "503 CLUSTERDOWN ");
  fleet_.report.relays = true;
  EXPECT_EQ(Get("/readyz"), "200 ready\n");
  JoinFleet("");
  EXPECT_EQ(Get("/readyz"), "503 no node leads, as far as this node knows\n");
}

TEST_F(StatusRoutesTest, AStandbyShowsNoLocks) {
  JoinFleet("lock2");
  EXPECT_EQ(Get("/api/v1/limits").substr(0, 41), R"(503 {"error":{"code":"CLUSTERDOWN","messa)");
}

TEST_F(StatusRoutesTest, ASingleServerHasNoCluster) {
  EXPECT_EQ(Get("/api/v1/cluster"), "200 {\"cluster\":null}\n");
}

TEST_F(StatusRoutesTest, ANodeShowsItsFleet) {
  JoinFleet("lock2");
  command::EtcdMember member;
  member.endpoint = "etcd1:2379";
  member.error = "refused";
  fleet_.report.etcd.push_back(member);
  const std::string answer = Get("/api/v1/cluster");
  for (const std::string_view part : {
           R"(200 {"cluster":{"fleet":"main","node":"lock1","dialect":"plain","partition":null,)",
           R"("partitions":0,"role":"standby","epoch":7,)",
           R"("leader":"lock2","leader_address":"lock2.example:3247",)",
           R"("age_ms":2500,"error":null,"commits":100,)",
           R"({"name":"lock2","address":"lock2.example:3247",)",
           R"("in_sync":1,"frames_behind":2,)",
           R"("etcd":[{"endpoint":"etcd1:2379","error":"refused","version":null,"leader":0,)",
       }) {
    EXPECT_NE(answer.find(part), std::string::npos) << part << " is not in " << answer;
  }
}

}  // namespace
}  // namespace fairlock::http
