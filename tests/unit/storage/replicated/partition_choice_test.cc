#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "storage/replicated/fleet_view.h"

namespace fairlock::storage::replicated {
namespace {

NodeRecord MemberOf(const std::string& name, const std::string& machine,
                    std::uint32_t partition = 0) {
  NodeRecord record;
  record.name = name;
  record.machine = machine;
  record.partition = partition;
  return record;
}

TEST(PartitionChoice, FewerNodesCountFirst) {
  const std::vector<NodeRecord> nodes = {MemberOf("a", "m1", 0), MemberOf("b", "m1", 2)};
  EXPECT_EQ(ChoosePartition({}, 3, MemberOf("x", "m1")), 0);
  EXPECT_EQ(ChoosePartition(nodes, 3, MemberOf("x", "m1")), 1);
  EXPECT_EQ(ChoosePartition(nodes, 1, MemberOf("x", "m1")), 0) << "there is only one";
}

TEST(PartitionChoice, ThenAMachineThatHasNoneYet) {
  const std::vector<NodeRecord> nodes = {MemberOf("a", "m1", 0), MemberOf("b", "m2", 1)};
  EXPECT_EQ(ChoosePartition(nodes, 2, MemberOf("x", "m1")), 1);
  EXPECT_EQ(ChoosePartition(nodes, 2, MemberOf("x", "m2")), 0);
  EXPECT_EQ(ChoosePartition(nodes, 2, MemberOf("x", "m3")), 0);
}

TEST(PartitionChoice, AnEarlierProcessOfTheNodeDoesNotCount) {
  const std::vector<NodeRecord> nodes = {MemberOf("a", "m1", 0), MemberOf("b", "m2", 1)};
  EXPECT_EQ(ChoosePartition(nodes, 2, MemberOf("b", "m2")), 1);
}

// Machines that join one after the other, each with as many nodes as there are partitions.
TEST(PartitionChoice, EveryPartitionHasANodeOnEveryMachine) {
  for (std::uint32_t partitions = 1; partitions <= 8; ++partitions) {
    std::vector<NodeRecord> nodes;
    for (const std::string& machine : std::vector<std::string>{"m1", "m2", "m3"}) {
      std::vector<int> taken(partitions);
      for (std::uint32_t i = 0; i < partitions; ++i) {
        NodeRecord own = MemberOf(machine + std::to_string(i), machine);
        own.partition = ChoosePartition(nodes, partitions, own);
        ++taken[own.partition];
        nodes.push_back(own);
      }
      EXPECT_EQ(taken, std::vector<int>(partitions, 1));
    }
  }
}

}  // namespace
}  // namespace fairlock::storage::replicated
