#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>

#include "server/http/api.h"
#include "server/http/command_caller.h"
#include "server/http/figures.h"
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
    server_.parts().availability.set_service(leads ? command::Service::kFull
                                                   : command::Service::kClusterDown);
  }

  // Returns the status and the body.
  std::string Get(std::string target) {
    Request request;
    request.target = std::move(target);
    request.host = "127.0.0.1";
    request.verb = Verb::kGet;
    const Outcome outcome = api_.Take(request, caller_, server_.now());
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
  EXPECT_EQ(Get("/leaderz"), "200 leader\n");
  EXPECT_EQ(Get("/readyz"), "503 etcd has not confirmed anything for 2 s\n");
}

TEST_F(StatusRoutesTest, AStandbyNamesTheLeader) {
  JoinFleet("lock2");
  EXPECT_EQ(Get("/leaderz"), "503 standby; lock2 at lock2.example:3247 leads\n");
  JoinFleet("");
  EXPECT_EQ(Get("/leaderz"), "503 standby; no node leads, as far as this node knows\n");
}

TEST_F(StatusRoutesTest, AStandbyIsReadyIfItRelaysToALeader) {
  JoinFleet("lock2");
  EXPECT_EQ(Get("/readyz").substr(0, 16), "503 CLUSTERDOWN ");
  fleet_.report.relays = true;
  EXPECT_EQ(Get("/readyz"), "200 ready\n");
  JoinFleet("");
  EXPECT_EQ(Get("/readyz"), "503 no node leads, as far as this node knows\n");
}

}  // namespace
}  // namespace fairlock::http
