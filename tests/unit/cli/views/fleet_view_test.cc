#include "cli/views/fleet_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/cli/reply_test_support.h"

namespace fairlock::cli {
namespace {

using protocol::Reply;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Reply Node(std::string_view name, std::string_view role, bool is_in_sync) {
  return Map({{"name", Text(name)},
              {"address", Text("10.0.0.1:3247")},
              {"version", Text("0.1.0")},
              {"role", Text(role)},
              {"in_sync", Number(is_in_sync ? 1 : 0)},
              {"frames_behind", Number(is_in_sync ? 0 : 1234)},
              {"started_at", Number(1'700'000'000'000)}});
}

Reply Member(std::string_view error, std::string_view version) {
  return Map({{"endpoint", Text("e1:2379")},
              {"error", Text(error)},
              {"version", Text(version)},
              {"leader", Number(1)},
              {"size_bytes", Number(1'073'741'824)},
              {"size_in_use_bytes", Number(1536)}});
}

struct Seen {
  std::string_view leader = "n0";
  std::string_view error = "";
  bool awaits_acceptance = false;
  bool is_unsure = false;
  bool is_short = false;
  bool has_no_space = false;
  std::vector<Reply> nodes = {Node("n0", "leader", true), Node("n1", "standby", true)};
  std::vector<Reply> members = {Member("", "3.5.28")};
};

Reply StatusOf(const Seen& seen) {
  return Map({{"fleet", Text("main")},
              {"node", Text("n1")},
              {"role", Text("standby")},
              {"epoch", Number(7)},
              {"leader", Text(seen.leader)},
              {"leader_address", Text("10.0.0.1:3247")},
              {"leader_since", Number(1'700'000'000'000)},
              {"awaits_acceptance", Number(seen.awaits_acceptance ? 1 : 0)},
              {"unsure", Number(seen.is_unsure ? 1 : 0)},
              {"age_ms", Number(40)},
              {"error", Text(seen.error)},
              {"quota_bytes", Number(2'147'483'648)},
              {"short_of_quota", Number(seen.is_short ? 1 : 0)},
              {"no_space", Number(seen.has_no_space ? 1 : 0)},
              {"nodes", List(seen.nodes)},
              {"etcd", List(seen.members)}});
}

Screen Pipe() {
  Screen screen;
  screen.charset = Charset::kUtf8;
  return screen;
}

std::string TextOf(const Seen& seen) {
  return FleetText(StatusOf(seen), 1'700'000'003'000, Pipe());
}

TEST(IsOldEtcd, KnowsTheFirstGoodOneOfEachMinorVersion) {
  for (const std::string_view version :
       {"3.4.42", "3.5.28", "3.5.100", "3.6.9", "3.7.0", "4.0.0"}) {
    EXPECT_FALSE(IsOldEtcd(version)) << version;
  }
  for (const std::string_view version :
       {"3.4.41", "3.5.27", "3.6.8", "3.3.99", "2.9.9", "", "3.5", "x.y.z"}) {
    EXPECT_TRUE(IsOldEtcd(version)) << version;
  }
}

TEST(FleetText, ShowsTheLeaderTheNodesAndEtcd) {
  const std::string text = TextOf({});
  EXPECT_THAT(text, AllOf(HasSubstr("main, as node n1 (standby) saw it 40ms ago"),
                          HasSubstr("n0 at 10.0.0.1:3247 since "), HasSubstr("(3s), epoch 7"),
                          HasSubstr("n1    standby  in sync      3s  0.1.0"),
                          HasSubstr("e1:2379  3.5.28   yes     1.0 GB  1.5 KB    50.0 %")));
  EXPECT_THAT(text, Not(HasSubstr("warning")));
}

TEST(FleetText, ShowsWhatAStandbyLacks) {
  EXPECT_THAT(TextOf({.nodes = {Node("n0", "leader", true), Node("n1", "standby", false)}}),
              HasSubstr("1,234 frames"));
}

TEST(FleetText, IsSafeToPrint) {
  const std::string text = TextOf({.leader = "\x1b[2J", .error = "\x1b[2J"});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(FleetWarnings, AreNoneForAHealthyFleet) {
  EXPECT_THAT(FleetWarnings(StatusOf({})), IsEmpty());
}

TEST(FleetWarnings, NameEachTrouble) {
  EXPECT_THAT(FleetWarnings(StatusOf({.leader = ""})), ElementsAre("nobody leads"));
  EXPECT_THAT(FleetWarnings(StatusOf({.awaits_acceptance = true})),
              ElementsAre(HasSubstr("accept-restore")));
  EXPECT_THAT(FleetWarnings(StatusOf({.is_unsure = true})),
              ElementsAre(HasSubstr("no confirmation")));
  EXPECT_THAT(FleetWarnings(StatusOf({.error = "timeout"})),
              ElementsAre(HasSubstr("could not be updated: timeout")));
  EXPECT_THAT(FleetWarnings(StatusOf({.is_short = true})),
              ElementsAre(HasSubstr("almost reached its quota")));
  EXPECT_THAT(FleetWarnings(StatusOf({.is_short = true, .has_no_space = true})),
              ElementsAre(HasSubstr("NOSPACE")));
  EXPECT_THAT(FleetWarnings(StatusOf({.nodes = {Node("n0", "leader", true)}})),
              ElementsAre(HasSubstr("there is no standby")));
  EXPECT_THAT(FleetWarnings(
                  StatusOf({.nodes = {Node("n0", "leader", true), Node("n1", "standby", false)}})),
              ElementsAre(HasSubstr("no standby has the whole log")));
  EXPECT_THAT(FleetWarnings(StatusOf({.members = {Member("", "3.4.23")}})),
              ElementsAre(HasSubstr("e1:2379 has version 3.4.23")));
  EXPECT_THAT(FleetWarnings(StatusOf({.members = {Member("deadline exceeded", "")}})),
              ElementsAre("the etcd member e1:2379 does not answer: deadline exceeded"));
}

// A fleet of three partitions: nobody leads partition 1, and only partition 0 has a standby.
Reply PartitionNode(std::string_view name, std::int64_t partition, std::string_view role) {
  Reply node = Node(name, role, true);
  node.elements.push_back(Text("partition"));
  node.elements.push_back(Number(partition));
  return node;
}

Reply StatusOfThree() {
  Reply status =
      StatusOf({.nodes = {PartitionNode("a", 0, "leader"), PartitionNode("b", 0, "standby"),
                          PartitionNode("c", 2, "leader")}});
  for (const auto& [name, value] :
       {std::pair("partition", Number(0)), std::pair("partitions", Number(3))}) {
    status.elements.push_back(Text(name));
    status.elements.push_back(value);
  }
  return status;
}

Reply OwnStatus(std::string_view leader, std::int64_t epoch, bool is_unsure) {
  return Map({{"leader", Text(leader)},
              {"leader_address", Text("10.0.0.9:3247")},
              {"epoch", Number(epoch)},
              {"leader_since", Number(1'700'000'001'000)},
              {"unsure", Number(is_unsure ? 1 : 0)}});
}

TEST(FleetOfPartitions, ShowsTheLeaderOfEach) {
  const Reply status = StatusOfThree();
  const auto partitions = PartitionsOf(status, {{0, OwnStatus("a", 7, false)}});
  ASSERT_EQ(partitions.size(), 3U);
  EXPECT_THAT(partitions[0].standbys, ElementsAre("b"));
  const std::string text = FleetText(status, partitions, 1'700'000'003'000, Pipe());
  EXPECT_THAT(text, AllOf(HasSubstr("main, 3 partitions, as node n1 (standby of partition 0)"),
                          HasSubstr("        0  a "), HasSubstr(" (2s)      7  b\n"),
                          HasSubstr("        1  none    -                             -  none\n"),
                          HasSubstr("        2  c       -                             -  none\n"),
                          HasSubstr("c             2  leader")));
}

TEST(FleetOfPartitions, TheReplyOfALeaderCountsMoreThanTheList) {
  const auto partitions = PartitionsOf(StatusOfThree(), {{2, OwnStatus("d", 9, false)}});
  EXPECT_EQ(partitions[2].leader, "d");
  EXPECT_EQ(partitions[2].address, "10.0.0.9:3247");
  EXPECT_EQ(partitions[2].epoch, 9);
}

TEST(FleetOfPartitions, WarnsAboutPartitionsByNumber) {
  const Reply status = StatusOfThree();
  EXPECT_THAT(FleetWarnings(status, PartitionsOf(status, {{2, OwnStatus("c", 9, true)}})),
              ElementsAre("nobody leads partition 1",
                          "the leader of partition 2 has had no confirmation from etcd for 2s",
                          "there is no standby for partitions 1, 2: if the leader dies, nobody "
                          "takes over"));
}

}  // namespace
}  // namespace fairlock::cli
