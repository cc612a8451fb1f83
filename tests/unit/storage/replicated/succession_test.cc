#include "storage/replicated/succession.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace fairlock::storage::replicated {
namespace {

NodeRecord StandbyOf(const std::string& name, bool is_in_sync, std::uint64_t frames_behind = 0,
                     std::uint32_t partition = 0) {
  NodeRecord record;
  record.name = name;
  record.is_in_sync = is_in_sync;
  record.frames_behind = frames_behind;
  record.partition = partition;
  return record;
}

NodeRecord LeaderNamed(const std::string& name) {
  NodeRecord record = StandbyOf(name, true);
  record.leads = true;
  return record;
}

std::vector<std::uint32_t> RanksIn(const std::vector<NodeRecord>& nodes) {
  const FleetView view{.assignment = Assignment{}, .nodes = nodes};
  std::vector<std::uint32_t> ranks;
  for (const NodeRecord& node : nodes) {
    if (!node.leads) ranks.push_back(RankOf(view, node));
  }
  return ranks;
}

TEST(Succession, StandbysThatHaveCaughtUpAreRankedByName) {
  EXPECT_EQ(RanksIn({StandbyOf("b", true, 99), LeaderNamed("a"), StandbyOf("c", true),
                     StandbyOf("a2", true, 7)}),
            (std::vector<std::uint32_t>{1, 2, 0}));
}

TEST(Succession, ANodeThatReadsWaitsForOneThatHasCaughtUp) {
  EXPECT_EQ(RanksIn({StandbyOf("a", false), StandbyOf("b", true, 100), StandbyOf("c", true)}),
            (std::vector<std::uint32_t>{kRankWhileReading + 2, kRankWhileReading + 1, 0}));
}

TEST(Succession, IfAllReadTheOneWithTheFewestFramesComesFirst) {
  EXPECT_EQ(
      RanksIn({StandbyOf("a", true, 3'000), StandbyOf("b", true, 2'000), StandbyOf("c", false)}),
      (std::vector<std::uint32_t>{1, 0, 2}));
}

TEST(Succession, ANodeThatMostOthersCannotReachComesLast) {
  std::vector<NodeRecord> nodes = {StandbyOf("a", true), StandbyOf("b", false, 500),
                                   LeaderNamed("c"), StandbyOf("d", true)};
  nodes[1].unreached = "a";
  nodes[2].unreached = "a";
  EXPECT_TRUE(IsUnreached(nodes, nodes[0]));
  EXPECT_EQ(RanksIn(nodes),
            (std::vector<std::uint32_t>{kRankWhileReading + 2, kRankWhileReading + 1, 0}));
  EXPECT_EQ(WarmestStandby(nodes, 0, "c"), "d");
  // What one node of three sees may be its own fault.
  nodes[1].unreached = "d";
  EXPECT_FALSE(IsUnreached(nodes, nodes[0]));
  EXPECT_FALSE(IsUnreached(nodes, nodes[3]));
  EXPECT_EQ(WarmestStandby(nodes, 0, "c"), "a");
  // A word of the list is a whole name.
  for (NodeRecord& node : nodes) node.unreached = "aa ab";
  EXPECT_FALSE(IsUnreached(nodes, nodes[0]));
}

TEST(Succession, WithTwoNodesTheOtherOneDecides) {
  std::vector<NodeRecord> nodes = {LeaderNamed("a"), StandbyOf("b", true)};
  EXPECT_EQ(WarmestStandby(nodes, 0, "a"), "b");
  nodes[0].unreached = "b";
  EXPECT_EQ(WarmestStandby(nodes, 0, "a"), std::nullopt);
  // If there is no better one, it takes over at once nevertheless.
  EXPECT_EQ(RanksIn(nodes), (std::vector<std::uint32_t>{0}));
  nodes.pop_back();
  EXPECT_FALSE(IsUnreached(nodes, nodes[0])) << "nobody has tried";
}

TEST(Succession, OtherPartitionsDoNotCount) {
  FleetView view{.assignment = Assignment{.partition = 1, .partitions = 2},
                 .nodes = {StandbyOf("a", true), StandbyOf("b", true, 0, 1)}};
  EXPECT_EQ(RankOf(view, StandbyOf("z", false, 0, 1)), kRankWhileReading + 1);
  view.nodes.pop_back();
  EXPECT_EQ(RankOf(view, StandbyOf("z", false, 0, 1)), 0U);
}

TEST(Succession, OnlyAStandbyThatHasCaughtUpIsTheWarmest) {
  EXPECT_EQ(WarmestStandby(std::vector{LeaderNamed("a"), StandbyOf("b", false),
                                       StandbyOf("c", true, 100), StandbyOf("d", true, 0, 1)},
                           0, "a"),
            std::nullopt);
  EXPECT_EQ(WarmestStandby(std::vector{LeaderNamed("a"), StandbyOf("b", false),
                                       StandbyOf("c", true, 99), StandbyOf("d", true)},
                           0, "a"),
            "c");
}

// Whatever the nodes have read, their ranks differ, and the warmest has the lowest.
TEST(Succession, RanksDifferAndTheWarmestIsTheFirst) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 1'000; ++round) {
    std::vector<NodeRecord> nodes = {LeaderNamed("n9")};
    for (int i = 0; i < 5; ++i) {
      nodes.push_back(StandbyOf("n" + std::to_string(i), random() % 2 == 0, random() % 300));
    }
    std::ranges::shuffle(nodes, random);
    const FleetView view{.assignment = Assignment{}, .nodes = nodes};
    std::set<std::uint32_t> ranks;
    const auto warmest = WarmestStandby(nodes, 0, "n9");
    for (const NodeRecord& node : nodes) {
      if (node.leads) continue;
      const std::uint32_t rank = RankOf(view, node);
      EXPECT_TRUE(ranks.insert(rank).second) << "round " << round;
      EXPECT_EQ(rank >= kRankWhileReading, warmest && !HasCaughtUp(node)) << "round " << round;
      EXPECT_EQ(rank == 0 && HasCaughtUp(node), warmest == node.name) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace fairlock::storage::replicated
