// A fleet that reports whatever a test sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/command/environment/fleet.h"

namespace fairlock::command {

class FakeFleet final : public Fleet {
 public:
  FleetReport Report() const override { return report; }
  std::optional<PartitionLeader> LeaderOf(std::uint32_t partition) const override {
    for (const FleetNode& node : report.nodes) {
      if (node.partition != partition || node.role != FleetRole::kLeader) continue;
      return PartitionLeader{.host = node.host,
                             .port = node.port,
                             .tls_port = node.tls_port,
                             .is_this_node = node.name == report.node};
    }
    return std::nullopt;
  }
  FailOverStart StartFailOver(const FailOverRequest&) override {
    return {.error = "not in this test"};
  }
  std::string AcceptRestore() override { return "not in this test"; }

  // Makes that node the leader; an empty name means that no node leads.
  void SetLeader(std::string_view name) {
    report.leader = name;
    report.leader_host.clear();
    report.leader_port = 0;
    report.role = name == report.node ? FleetRole::kLeader : FleetRole::kStandby;
    for (FleetNode& node : report.nodes) {
      node.role = node.name == name ? FleetRole::kLeader : FleetRole::kStandby;
      if (node.name != name) continue;
      report.leader_host = node.host;
      report.leader_port = AnnouncedPort(node);
    }
  }

  FleetReport report = SeenByLock1();

 private:
  static FleetNode Node(std::string_view name, std::string_view host) {
    FleetNode node;
    node.name = name;
    node.host = host;
    return node;
  }

  static FleetReport SeenByLock1() {
    FleetReport seen;
    seen.fleet = "main";
    seen.node = "lock1";
    seen.epoch = 7;
    seen.age_ms = 2500;
    seen.commits = 100;
    seen.nodes = {Node("lock1", "lock1.example"), Node("lock2", "lock2.example"),
                  Node("lock3", "10.0.0.3")};
    for (std::size_t i = 0; i < 2; ++i) {
      seen.nodes[i].port = 3247;
      seen.nodes[i].sentinel_port = 3249;
      seen.nodes[i].is_in_sync = true;
    }
    seen.nodes[1].frames_behind = 2;
    seen.nodes[2].tls_port = 3250;
    return seen;
  }
};

}  // namespace fairlock::command
