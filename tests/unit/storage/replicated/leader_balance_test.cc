#include "storage/replicated/leader_balance.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace fairlock::storage::replicated {
namespace {

NodeRecord NodeOn(const std::string& machine, std::uint32_t partition, std::uint64_t epoch = 0) {
  NodeRecord record;
  record.name = machine + "-" + std::to_string(partition);
  record.machine = machine;
  record.partition = partition;
  record.epoch = epoch;
  record.leads = epoch != 0;
  record.is_in_sync = true;
  return record;
}

// Each machine has a node of each partition; the first machine leads all of them.
std::vector<NodeRecord> FleetOf(std::uint32_t partitions,
                                const std::vector<std::string>& machines) {
  std::vector<NodeRecord> nodes;
  for (std::uint32_t partition = 0; partition < partitions; ++partition) {
    for (const std::string& machine : machines) {
      nodes.push_back(NodeOn(machine, partition, machine == machines.front() ? 1 : 0));
    }
  }
  return nodes;
}

NodeRecord& Find(std::vector<NodeRecord>& nodes, const std::string& name) {
  return *std::ranges::find(nodes, name, &NodeRecord::name);
}

TEST(ChooseSuccessor, AMachineThatLeadsTwoFewerGetsAPartition) {
  const auto nodes = FleetOf(2, {"m1", "m2"});
  EXPECT_EQ(ChooseSuccessor(nodes, 2, nodes[0]), "m2-0");
  EXPECT_EQ(ChooseSuccessor(nodes, 2, nodes[2]), "m2-1") << "each of the leaders may hand over";
  EXPECT_EQ(ChooseSuccessor(nodes, 2, nodes[1]), std::nullopt) << "it does not lead";
}

TEST(ChooseSuccessor, OnePartitionFewerIsNotEnough) {
  auto nodes = FleetOf(3, {"m1", "m2"});
  Find(nodes, "m1-2") = NodeOn("m1", 2);
  Find(nodes, "m2-2") = NodeOn("m2", 2, 2);
  EXPECT_EQ(ChooseSuccessor(nodes, 3, nodes[0]), std::nullopt);
  EXPECT_EQ(ChooseSuccessor(FleetOf(1, {"m1", "m2"}), 1, NodeOn("m1", 0, 1)), std::nullopt);
}

TEST(ChooseSuccessor, TheMachineThatLeadsTheFewestComesFirst) {
  auto nodes = FleetOf(5, {"m1", "m2", "m3"});
  Find(nodes, "m1-4") = NodeOn("m1", 4);
  Find(nodes, "m2-4") = NodeOn("m2", 4, 2);
  EXPECT_EQ(ChooseSuccessor(nodes, 5, nodes[0]), "m3-0");
  Find(nodes, "m3-0").frames_behind = kFramesOfCaughtUp;
  EXPECT_EQ(ChooseSuccessor(nodes, 5, nodes[0]), "m2-0") << "the other one has not caught up";
  std::erase_if(nodes, [](const NodeRecord& node) { return node.name == "m2-0"; });
  EXPECT_EQ(ChooseSuccessor(nodes, 5, nodes[0]), std::nullopt);
}

TEST(ChooseSuccessor, NoneWhileANodeLoadsOrAPartitionHasNoLeader) {
  auto nodes = FleetOf(3, {"m1", "m2"});
  ASSERT_TRUE(ChooseSuccessor(nodes, 3, nodes[0]));
  Find(nodes, "m2-2").is_in_sync = false;
  EXPECT_EQ(ChooseSuccessor(nodes, 3, nodes[0]), std::nullopt);
  nodes = FleetOf(3, {"m1", "m2"});
  Find(nodes, "m1-2").leads = false;
  EXPECT_EQ(ChooseSuccessor(nodes, 3, nodes[0]), std::nullopt);
}

// The record of a leader that is gone remains for a few seconds.
TEST(ChooseSuccessor, OfTwoRecordsTheHigherEpochLeads) {
  auto nodes = FleetOf(2, {"m1", "m2"});
  Find(nodes, "m2-0") = NodeOn("m2", 0, 2);
  EXPECT_EQ(ChooseSuccessor(nodes, 2, nodes[0]), std::nullopt) << "it has been replaced";
  EXPECT_EQ(ChooseSuccessor(nodes, 2, nodes[2]), std::nullopt) << "each machine leads one";
}

// In a random fleet, random leaders hand over until none may. The sum of squares of the numbers of
// partitions that the machines lead falls with each hand-over.
TEST(ChooseSuccessor, EverySequenceOfHandOversEndsInABalance) {
  std::mt19937_64 random(28);
  const auto below = [&](std::size_t end) { return random() % end; };
  for (int fleet = 0; fleet < 2'000; ++fleet) {
    const auto partitions = static_cast<std::uint32_t>(1 + below(8));
    const std::size_t machines = 1 + below(5);
    std::vector<NodeRecord> nodes;
    for (std::uint32_t partition = 0; partition < partitions; ++partition) {
      const std::size_t first = nodes.size();
      for (std::size_t machine = 0; machine < machines; ++machine) {
        if (below(4) != 0) nodes.push_back(NodeOn("m" + std::to_string(machine), partition));
      }
      if (nodes.size() == first) nodes.push_back(NodeOn("m0", partition));
      NodeRecord& leader = nodes[first + below(nodes.size() - first)];
      leader.leads = true;
      leader.epoch = 1;
    }
    const auto squares = [&] {
      std::map<std::string, std::uint64_t> led;
      for (const NodeRecord& node : nodes) led[node.machine] += node.leads ? 1 : 0;
      std::uint64_t sum = 0;
      for (const auto& [machine, count] : led) sum += count * count;
      return sum;
    };
    for (;;) {
      std::vector<std::pair<std::string, std::string>> moves;
      for (const NodeRecord& node : nodes) {
        if (const auto next = ChooseSuccessor(nodes, partitions, node)) {
          moves.emplace_back(node.name, *next);
        }
      }
      if (moves.empty()) break;
      const std::uint64_t before = squares();
      const auto& [from, to] = moves[below(moves.size())];
      ASSERT_EQ(Find(nodes, from).partition, Find(nodes, to).partition);
      Find(nodes, to).epoch = Find(nodes, from).epoch + 1;
      Find(nodes, from).leads = false;
      Find(nodes, to).leads = true;
      ASSERT_LT(squares(), before);
    }
  }
}

TEST(LeaderBalance, WaitsUntilNothingHasChangedForTheWholeTime) {
  auto nodes = FleetOf(2, {"m1", "m2"});
  LeaderBalance balance(60'000);
  EXPECT_FALSE(balance.See(nodes, 2, 7, 1'000));
  EXPECT_FALSE(balance.See(nodes, 2, 7, 60'999));
  EXPECT_TRUE(balance.See(nodes, 2, 7, 61'000));
  EXPECT_FALSE(balance.See(nodes, 2, 8, 62'000)) << "a node has joined, or hands over";
  EXPECT_TRUE(balance.See(nodes, 2, 8, 122'000));
  Find(nodes, "m1-1").epoch = 2;
  EXPECT_FALSE(balance.See(nodes, 2, 8, 123'000)) << "a node has taken over";
  EXPECT_TRUE(balance.See(nodes, 2, 8, 183'000));
  Find(nodes, "m1-1").leads = false;
  EXPECT_FALSE(balance.See(nodes, 2, 8, 184'000));
  EXPECT_FALSE(balance.See(nodes, 2, 8, 284'000)) << "a partition has no leader";
  Find(nodes, "m1-1").leads = true;
  EXPECT_FALSE(balance.See(nodes, 2, 8, 285'000));
  EXPECT_TRUE(balance.See(nodes, 2, 8, 345'000));
  balance.Forget();
  EXPECT_FALSE(balance.See(nodes, 2, 8, 346'000));
}

TEST(LeaderBalance, CanBeTurnedOff) {
  LeaderBalance balance(0);
  EXPECT_FALSE(balance.is_enabled());
  const auto nodes = FleetOf(2, {"m1", "m2"});
  EXPECT_FALSE(balance.See(nodes, 2, 7, 1'000));
  EXPECT_FALSE(balance.See(nodes, 2, 7, 1'000'000));
}

}  // namespace
}  // namespace fairlock::storage::replicated
