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

Reply Node(std::string_view name, std::string_view role, bool is_in_sync,
           std::string_view options = "") {
  return Map({{"name", Text(name)},
              {"address", Text("10.0.0.1:3247")},
              {"version", Text("0.1.0")},
              {"role", Text(role)},
              {"in_sync", Number(is_in_sync ? 1 : 0)},
              {"frames_behind", Number(is_in_sync ? 0 : 1234)},
              {"started_at", Number(1'700'000'000'000)},
              {"options", Text(options)}});
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
              {"last_leader", Text(seen.leader.empty() ? "n0" : "")},
              {"leader_heard_ms", Number(12'000)},
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
  Reply node = Node("n1", "standby", false);
  for (std::size_t i = 0; i + 1 < node.elements.size(); i += 2) {
    if (node.elements[i].text == "frames_behind") node.elements[i + 1] = Number(0);
  }
  EXPECT_THAT(TextOf({.nodes = {Node("n0", "leader", true), node}}), HasSubstr("not following"));
}

TEST(FleetText, SaysWhichLeaderWasLost) {
  const std::string text =
      TextOf({.leader = "", .nodes = {Node("n0", "lost", true), Node("n1", "standby", true)}});
  EXPECT_THAT(text, HasSubstr("none, epoch 7; n0 led last, and was heard of 12s ago"));
  EXPECT_THAT(text, HasSubstr("warning: n0 led, but is not heard of: it is dead or cut off, or"));
  // Another node leads.
  EXPECT_THAT(TextOf({.nodes = {Node("n0", "lost", true), Node("n1", "leader", true)}}),
              HasSubstr("warning: n0 led, but is dead, or has not learned yet"));
}

TEST(FleetText, DoesNotNameALeaderThatEtcdDoesNotConfirm) {
  const std::string text =
      TextOf({.leader = "",
              .is_unsure = true,
              .nodes = {Node("n0", "standby", true), Node("n1", "unsure", false)}});
  EXPECT_THAT(text, AllOf(HasSubstr("main, as node n1 (unsure) saw it"),
                          HasSubstr("none, epoch 7; n0 led last, and etcd confirmed that 12s ago"),
                          HasSubstr("warning: nobody leads\n"),
                          HasSubstr("warning: etcd does not confirm that n1 leads")));
}

TEST(FleetText, IsSafeToPrint) {
  const std::string text = TextOf({.leader = "\x1b[2J", .error = "\x1b[2J"});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(FleetWarnings, AreNoneForAHealthyFleet) {
  EXPECT_THAT(FleetWarnings(StatusOf({})), IsEmpty());
}

TEST(FleetWarnings, NameOptionsThatDiffer) {
  const std::string leaders = "cluster_keep_lines=yes restart_grace=30s";
  const auto warnings_with = [&](std::string_view options) {
    return FleetWarnings(StatusOf(
        {.nodes = {Node("n0", "leader", true, leaders), Node("n1", "standby", true, options)}}));
  };
  EXPECT_THAT(warnings_with(leaders), IsEmpty());
  EXPECT_THAT(warnings_with(""), IsEmpty()) << "an older version";
  EXPECT_THAT(warnings_with("cluster_keep_lines=yes restart_grace=3s"),
              ElementsAre(HasSubstr("n1 has restart_grace=3s, but the leader n0 has "
                                    "restart_grace=30s")));
}

TEST(FleetWarnings, NameEachTrouble) {
  EXPECT_THAT(FleetWarnings(StatusOf({.leader = ""})), ElementsAre("nobody leads"));
  EXPECT_THAT(FleetWarnings(StatusOf({.awaits_acceptance = true})),
              ElementsAre(HasSubstr("accept-restore")));
  EXPECT_THAT(FleetWarnings(StatusOf({.is_unsure = true})),
              ElementsAre(HasSubstr("etcd does not confirm that n1 leads")));
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
  Reply mixed = Node("n1", "standby", true);
  mixed.elements.push_back(Text("refused_etcd"));
  mixed.elements.push_back(Text("other:2379"));
  EXPECT_THAT(FleetWarnings(StatusOf({.nodes = {Node("n0", "leader", true), mixed}})),
              ElementsAre("n1 does not use other:2379, which belongs to another etcd cluster "
                          "(cluster_etcd)"));
  EXPECT_THAT(FleetWarnings(StatusOf({.members = {Member("", "3.4.23")}})),
              ElementsAre(HasSubstr("e1:2379 has version 3.4.23")));
  EXPECT_THAT(FleetWarnings(StatusOf({.members = {Member("deadline exceeded", "")}})),
              ElementsAre("the etcd member e1:2379 does not serve: deadline exceeded"));
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
                          "etcd does not confirm the leader of partition 2, which refuses commands "
                          "about locks",
                          "there is no standby for partitions 1, 2: if the leader dies, nobody "
                          "takes over"));
}

}  // namespace
}  // namespace fairlock::cli
