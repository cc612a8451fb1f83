#include "cli/connection/fleet_leaders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/unit/cli/reply_test_support.h"

namespace fairlock::cli {
namespace {

using protocol::Reply;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Reply FleetNodeAt(std::string_view name, std::int64_t partition, std::string_view role,
                  std::string_view address, std::int64_t tls_port = 0) {
  return Map({{"name", Text(name)},
              {"address", Text(address)},
              {"tls_port", Number(tls_port)},
              {"partition", Number(partition)},
              {"role", Text(role)}});
}

Reply StatusWith(std::int64_t partitions, const Reply& nodes) {
  return Map({{"partitions", Number(partitions)}, {"nodes", nodes}});
}

TEST(LeadersOf, AreListedByPartition) {
  const Reply nodes = List({FleetNodeAt("c", 2, "leader", "10.0.0.3:3247"),
                            FleetNodeAt("a", 0, "leader", "[fd00::1]:3248"),
                            FleetNodeAt("b", 0, "standby", "10.0.0.2:3247"),
                            FleetNodeAt("x", 7, "leader", "10.0.0.7:3247")});
  EXPECT_THAT(LeadersOf(StatusWith(3, nodes), false),
              ElementsAre(LeaderAddress{"a", {"fd00::1", 3248}}, LeaderAddress{},
                          LeaderAddress{"c", {"10.0.0.3", 3247}}));
  EXPECT_EQ(LeadersOf(StatusWith(1'000'000, nodes), false).size(), 64U) << "the maximum";
}

TEST(LeadersOf, AreReachedByTlsOnlyIfTheToolUsesIt) {
  const Reply both = FleetNodeAt("a", 0, "leader", "10.0.0.1:3247", 3250);
  EXPECT_EQ(AddressOf(both, false), (ServerAddress{"10.0.0.1", 3247}));
  EXPECT_EQ(AddressOf(both, true), (ServerAddress{"10.0.0.1", 3250}));
  const Reply tls_only = FleetNodeAt("a", 0, "leader", "10.0.0.1:0", 3250);
  EXPECT_EQ(AddressOf(tls_only, true), (ServerAddress{"10.0.0.1", 3250}));
  EXPECT_EQ(AddressOf(FleetNodeAt("a", 0, "leader", "nonsense:x"), true), ServerAddress{});
}

TEST(FleetLeaders, NamesThoseThatHaveFailed) {
  const Reply nodes = List({FleetNodeAt("a", 0, "leader", "10.0.0.1:3247"),
                            FleetNodeAt("c", 2, "leader", "10.0.0.3:3247")});
  FleetLeaders leaders = FleetLeaders::Of(StatusWith(3, nodes), {}, {});
  ASSERT_TRUE(leaders.is_several());
  EXPECT_THAT(leaders.FailureTexts(), ElementsAre(StartsWith("partition 1 failed: no node leads")));
  EXPECT_EQ(leaders.FirstFailure()->exit_code, kExitUnreachable);
  EXPECT_FALSE(leaders.TotalFailure());
  leaders.Fail(2, {kExitRefused, "it is off"});
  leaders.Fail(2, {kExitNotAllowed, "a later failure"});
  leaders.Fail(0, {kExitRefused, "it is off"});
  EXPECT_THAT(leaders.FailureTexts(),
              ElementsAre("partition 0 (a at 10.0.0.1:3247) failed: it is off", HasSubstr("1"),
                          "partition 2 (c at 10.0.0.3:3247) failed: it is off"));
  EXPECT_EQ(leaders.TotalFailure()->exit_code, kExitRefused);
}

TEST(FleetLeaders, ASingleServerIsNamedByItsOwnFailure) {
  Client client({}, {});
  FleetLeaders leaders(client);
  EXPECT_FALSE(leaders.is_several());
  EXPECT_FALSE(leaders.FirstFailure());
  leaders.Fail(0, {kExitRefused, "it is off"});
  EXPECT_THAT(leaders.FailureTexts(), IsEmpty());
  EXPECT_EQ(leaders.TotalFailure()->text, "it is off");
}

}  // namespace
}  // namespace fairlock::cli
