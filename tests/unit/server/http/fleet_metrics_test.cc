#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "server/http/metrics_page.h"
#include "tests/unit/server/command/command_test_support.h"
#include "tests/unit/server/command/fake_fleet_test_support.h"

namespace fairlock::http {
namespace {

using Samples = std::map<std::string, double>;

// All samples, by name with labels.
Samples SamplesOf(command::TestServer& server) {
  LockSurvey survey(server.parts());
  while (!survey.Step(server.now())) {
  }
  std::istringstream page(MetricsPage(server.parts(), survey, server.now()));
  Samples samples;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("#")) continue;
    const std::size_t space = line.rfind(' ');
    samples[line.substr(0, space)] = std::stod(line.substr(space + 1));
  }
  return samples;
}

// The samples about a fleet and etcd.
Samples FleetSamplesOf(command::TestServer& server) {
  Samples samples = SamplesOf(server);
  std::erase_if(samples, [](const auto& sample) {
    return !sample.first.starts_with("fairlock_fleet_") &&
           !sample.first.starts_with("fairlock_etcd_");
  });
  return samples;
}

class FleetMetricsTest : public testing::Test {
 protected:
  FleetMetricsTest() { server_.parts().environment.fleet = &fleet_; }

  Samples Ask() { return FleetSamplesOf(server_); }

  command::FakeFleet fleet_;
  command::TestServer server_;
};

TEST_F(FleetMetricsTest, ASingleServerHasNone) {
  server_.parts().environment.fleet = nullptr;
  EXPECT_EQ(Ask(), Samples());
}

TEST_F(FleetMetricsTest, EachSampleOfANodeHasItsPartition) {
  fleet_.report.partition = 2;
  EXPECT_FALSE(SamplesOf(server_).empty());
  for (const auto& [name, value] : SamplesOf(server_)) {
    EXPECT_EQ(name.find("partition="), std::string::npos)
        << name << " before the node knows its partition";
  }
  fleet_.report.partitions = 4;
  const Samples samples = SamplesOf(server_);
  for (const auto& [name, value] : samples) {
    EXPECT_NE(name.find(R"(partition="2")"), std::string::npos) << name;
  }
  EXPECT_TRUE(samples.contains(R"(fairlock_waiters{partition="2"})"));
  EXPECT_TRUE(samples.contains(R"(fairlock_fleet_info{fleet="main",node="lock1",partition="2"})"));
  server_.parts().environment.fleet = nullptr;
  for (const auto& [name, value] : SamplesOf(server_)) {
    EXPECT_EQ(name.find("partition="), std::string::npos) << name << " on a single server";
  }
}

TEST_F(FleetMetricsTest, NodesOfOtherPartitionsAreNotCounted) {
  fleet_.SetLeader("lock1");
  fleet_.report.nodes[1].partition = 1;
  fleet_.report.nodes[1].role = command::FleetRole::kLeader;
  const Samples samples = Ask();
  EXPECT_EQ(samples.at(R"(fairlock_fleet_nodes{role="leader"})"), 1);
  EXPECT_EQ(samples.at(R"(fairlock_fleet_nodes{role="standby"})"), 1);
}

TEST_F(FleetMetricsTest, TheLeaderReportsItsFleet) {
  fleet_.SetLeader("lock1");
  fleet_.report.commits_us = 250'000;
  fleet_.report.committed_bytes = 12'345;
  fleet_.report.quota_bytes = 2'000;
  Samples samples = Ask();
  EXPECT_EQ(samples[R"(fairlock_fleet_info{fleet="main",node="lock1"})"], 1);
  EXPECT_EQ(samples["fairlock_fleet_leader"], 1);
  EXPECT_EQ(samples["fairlock_fleet_epoch"], 7);
  EXPECT_EQ(samples[R"(fairlock_fleet_nodes{role="leader"})"], 1);
  EXPECT_EQ(samples[R"(fairlock_fleet_nodes{role="standby"})"], 2);
  EXPECT_EQ(samples["fairlock_etcd_commits_total"], 100);
  EXPECT_EQ(samples["fairlock_etcd_commit_seconds_count"], 100);
  EXPECT_EQ(samples["fairlock_etcd_commit_seconds_sum"], 0.25);
  EXPECT_EQ(samples["fairlock_etcd_committed_bytes_total"], 12'345);
  EXPECT_EQ(samples["fairlock_etcd_quota_bytes"], 2'000);
  for (const std::string name : {"fleet_unsure", "fleet_awaits_acceptance", "etcd_no_space"}) {
    EXPECT_EQ(samples.at("fairlock_" + name), 0) << name;
  }
}

TEST_F(FleetMetricsTest, AStandbyReportsItsOwnLagOnly) {
  fleet_.SetLeader("lock1");
  fleet_.report.node = "lock2";
  fleet_.report.role = command::FleetRole::kStandby;
  Samples samples = Ask();
  EXPECT_EQ(samples.at("fairlock_fleet_leader"), 0);
  EXPECT_EQ(samples.at("fairlock_fleet_in_sync"), 1);
  EXPECT_EQ(samples.at("fairlock_fleet_frames_behind"), 2);
  fleet_.report.node = "lock3";
  EXPECT_EQ(Ask().at("fairlock_fleet_in_sync"), 0);
}

TEST_F(FleetMetricsTest, NodesThatAreLostOrUnreachableAreCounted) {
  fleet_.SetLeader("lock1");
  EXPECT_EQ(Ask().at(R"(fairlock_fleet_nodes{role="lost"})"), 0);
  EXPECT_EQ(Ask().at("fairlock_fleet_unreachable_nodes"), 0);
  fleet_.report.nodes[1].role = command::FleetRole::kLost;
  fleet_.report.nodes[2].is_unreached = true;
  EXPECT_EQ(Ask().at(R"(fairlock_fleet_nodes{role="lost"})"), 1);
  EXPECT_EQ(Ask().at(R"(fairlock_fleet_nodes{role="standby"})"), 1);
  EXPECT_EQ(Ask().at("fairlock_fleet_unreachable_nodes"), 1);
}

TEST_F(FleetMetricsTest, UnreachableNodesAreNotCountedFromAListThatMayBeOld) {
  fleet_.report.nodes[2].is_unreached = true;
  fleet_.report.error = "etcd does not answer";
  EXPECT_FALSE(Ask().contains("fairlock_fleet_unreachable_nodes"));
}

TEST_F(FleetMetricsTest, ANodeThatHasNotReadItsRecordReportsNoLag) {
  fleet_.report.nodes.clear();
  const Samples samples = Ask();
  EXPECT_FALSE(samples.contains("fairlock_fleet_in_sync"));
  EXPECT_FALSE(samples.contains("fairlock_fleet_frames_behind"));
  EXPECT_EQ(samples.at(R"(fairlock_fleet_nodes{role="standby"})"), 0);
}

TEST_F(FleetMetricsTest, WhatNeedsAnOperatorIsOne) {
  fleet_.report.is_unsure = true;
  fleet_.report.awaits_acceptance = true;
  fleet_.report.has_no_space = true;
  const Samples samples = Ask();
  for (const std::string name : {"fleet_unsure", "fleet_awaits_acceptance", "etcd_no_space"}) {
    EXPECT_EQ(samples.at("fairlock_" + name), 1) << name;
  }
}

TEST_F(FleetMetricsTest, AMemberThatDoesNotAnswerHasNoSizes) {
  command::EtcdMember up;
  up.endpoint = "etcd1:2379";
  up.size_bytes = 4'096;
  up.size_in_use_bytes = 1'024;
  command::EtcdMember down;
  down.endpoint = "etcd2:2379";
  down.error = "connection refused";
  fleet_.report.etcd = {up, down};
  const Samples samples = Ask();
  EXPECT_EQ(samples.at(R"(fairlock_etcd_member_up{endpoint="etcd1:2379"})"), 1);
  EXPECT_EQ(samples.at(R"(fairlock_etcd_database_bytes{endpoint="etcd1:2379"})"), 4'096);
  EXPECT_EQ(samples.at(R"(fairlock_etcd_database_in_use_bytes{endpoint="etcd1:2379"})"), 1'024);
  EXPECT_EQ(samples.at(R"(fairlock_etcd_member_up{endpoint="etcd2:2379"})"), 0);
  EXPECT_FALSE(samples.contains(R"(fairlock_etcd_database_bytes{endpoint="etcd2:2379"})"));
  EXPECT_FALSE(samples.contains(R"(fairlock_etcd_database_in_use_bytes{endpoint="etcd2:2379"})"));
}

}  // namespace
}  // namespace fairlock::http
