// A node's part in its fleet: its record, its partition, what it says about the fleet, and the
// leaders that it redirects clients to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/command/environment/fleet.h"
#include "server/engine/containers/time.h"
#include "server/services/fleet_report.h"
#include "storage/replicated/cluster_home.h"
#include "storage/replicated/fleet_observer.h"
#include "tests/simulation/fleet/virtual_time.h"

namespace fairlock::fleet {

// The name of the simulated fleet. The address of a node is its name.
inline constexpr const char* kFleetName = "sim";

struct MembershipOptions {
  std::string node;
  std::string run;
  storage::etcd::EtcdOptions etcd;
  std::string machine;
  std::int64_t started_unix_ms = 0;
  std::optional<std::uint32_t> partition;  // as in FleetObserverOptions
  TimeUs balance_after = 0;                // the same
  // The time of a clock that does not stand still.
  std::function<storage::replicated::TimeMs()> now_ms;
  std::function<void()> on_view;                         // called by the fiber of the observer
  std::function<engine::DurationMs()> unsure_ms;         // as in FleetKnowledge
  std::function<bool(const std::string& node)> reaches;  // whether it can connect to that node
  // Called with the facts that decide its rank.
  std::function<void(const storage::replicated::FleetView& view,
                     const storage::replicated::NodeRecord& own)>
      ranked;
};

// Replaces server/services/fleet_service. The observer is the real one.
class Membership final : public command::Fleet {
 public:
  // `home` must outlive this object.
  Membership(storage::replicated::ClusterHome& home, MembershipOptions options);

  // Call this when this node has become the leader.
  void TakeLead();
  // Call this after `on_view`. Returns why this node must not run, or an empty string.
  std::string TakeView();
  const std::optional<storage::replicated::Assignment>& assignment() const { return assignment_; }
  // As in FleetView.
  const std::string& successor() const { return view_.successor; }
  // The standby to which it would hand over; empty if there is none.
  std::string WarmestStandby() const;
  // When it asked for the records that it knows; kNever if it knows none.
  storage::replicated::TimeMs read_at() const { return view_.read_at; }
  void KeepRecord() { observer_->KeepRecord(); }

  command::FleetReport Report() const override;
  std::optional<command::PartitionLeader> LeaderOf(std::uint32_t partition) const override;
  command::FailOverStart StartFailOver(const command::FailOverRequest&) override {
    return {.error = "not in the simulation"};
  }
  std::string AcceptRestore() override { return "not in the simulation"; }

 private:
  storage::replicated::NodeRecord Describe() const;
  void NoteUnreached();
  server::FleetKnowledge Knowledge(const storage::replicated::NodeRecord& own) const;

  const MembershipOptions options_;
  storage::replicated::ClusterHome& home_;
  storage::replicated::NodeRecord own_;
  std::optional<storage::replicated::Assignment> assignment_;
  storage::replicated::FleetView view_;
  std::unique_ptr<storage::replicated::FleetObserver> observer_;
};

}  // namespace fairlock::fleet
